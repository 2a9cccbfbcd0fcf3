#include "app/bench_machine.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace brass::app {
namespace {

using Clock = std::chrono::steady_clock;

// Calls each(key, value) for the lines "key : value" of a file.
template <class F>
void each_line(const char* path, F each) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    if (key_end != std::string::npos)
      each(line.substr(0, key_end + 1), value == std::string::npos ? "" : line.substr(value));
  }
}

}  // namespace

std::string processor_name() {
  std::string name;
  each_line("/proc/cpuinfo", [&](const std::string& key, const std::string& value) {
    if (key == "model name" && name.empty()) name = value;
  });
  return name;
}

std::string system_name() {
  utsname name{};
  return uname(&name) == 0 ? fmt::format("{} {}", name.sysname, name.release) : "";
}

std::string clock_text() {
  double low = 1e9, high = 0;
  each_line("/proc/cpuinfo", [&](const std::string& key, const std::string& value) {
    if (key != "cpu MHz") return;
    const double mhz = std::strtod(value.c_str(), nullptr);
    low = std::min(low, mhz);
    high = std::max(high, mhz);
  });
  return high > 0 ? fmt::format("{:.2f} … {:.2f} GHz", low / 1e3, high / 1e3) : "";
}

std::optional<uint64_t> available_memory() {
  std::optional<uint64_t> bytes;
  each_line("/proc/meminfo", [&](const std::string& key, const std::string& value) {
    if (key == "MemAvailable") bytes = std::strtoull(value.c_str(), nullptr, 10) * 1024;
  });
  return bytes;
}

double timer_resolution() {
  double smallest = 1;
  for (int i = 0; i < 100; i++) {
    const auto begin = Clock::now();
    auto next = begin;
    while (next == begin) next = Clock::now();
    smallest = std::min(smallest, std::chrono::duration<double>(next - begin).count());
  }
  return smallest;
}

double timer_cost() {
  constexpr int kReadings = 10000;
  const auto begin = Clock::now();
  auto end = begin;
  for (int i = 0; i < kReadings; i++) end = Clock::now();
  return std::chrono::duration<double>(end - begin).count() / kReadings;
}

std::string now_text() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now));
}

Neighbours::Ticks Neighbours::look() {
  Ticks ticks;
  std::ifstream in("/proc/stat");
  std::string name;
  double value = 0, hertz = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (!(in >> name) || name != "cpu" || !(hertz > 0)) return ticks;
  // user nice system idle iowait irq softirq steal; guest time is in user already.
  for (int i = 0; i < 8 && in >> value; i++) {
    ticks.all += value / hertz;
    if (i != 3 && i != 4) ticks.busy += value / hertz;
  }
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return ticks;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  ticks.own = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  ticks.known = true;
  return ticks;
}

void Neighbours::restart() { begin_ = look(); }

std::optional<double> Neighbours::share() const {
  const Ticks end = look();
  const double all = end.all - begin_.all;
  if (!begin_.known || !end.known || !(all > 0)) return std::nullopt;
  return std::clamp((end.busy - begin_.busy - (end.own - begin_.own)) / all, 0.0, 1.0);
}

}  // namespace brass::app
