// Granite's form, dense or with experts.
#pragma once

#include "model/builder.h"

namespace brass {

Result<> describe_granite(Builder& b);

}  // namespace brass
