// Where this checkout lies: its path is compiled into one small file, so that objects of tests are alike in every checkout.
#pragma once

#include <string>

namespace brass {

const std::string& source_dir();

}  // namespace brass
