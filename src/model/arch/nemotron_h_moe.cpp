// The name that converters give to all of the family: nemotron_h.cpp.
#include "model/architecture.h"

namespace brass {

extern const Architecture arch_nemotron_h;

namespace {
Result<> describe_nemotron_h_moe(Builder& b) { return arch_nemotron_h.describe(b); }
}  // namespace

extern const Architecture arch_nemotron_h_moe;
const Architecture arch_nemotron_h_moe{"nemotron_h_moe", "Nemotron-H, Nemotron Nano 2 and 3",
                                       describe_nemotron_h_moe};

}  // namespace brass
