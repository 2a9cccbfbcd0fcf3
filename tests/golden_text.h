// Texts that are kept in files: the first line that differs is named.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace brass {

// Whether it is the same. hint: what to do where the difference is meant.
inline bool expect_golden_text(const std::filesystem::path& path, const std::string& text,
                               const std::string& hint) {
  std::ifstream file(path);
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  if (text == expected) return true;
  std::istringstream a(expected), b(text);
  std::string left, right;
  int line = 0;
  do {
    line++;
    left.clear(), right.clear();
    std::getline(a, left);
    std::getline(b, right);
  } while (left == right && (a || b));
  ADD_FAILURE() << path << " line " << line << "\n  expected: " << left << "\n  found:    " << right
                << "\n  if meant: " << hint;
  return false;
}

}  // namespace brass
