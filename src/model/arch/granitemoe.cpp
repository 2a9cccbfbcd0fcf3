// Granite 3 mixtures of experts (1B-A400M, 3B-A800M, those with a shared expert).
#include "model/arch/granite.h"
#include "model/architecture.h"

namespace brass {

extern const Architecture arch_granitemoe;
const Architecture arch_granitemoe{"granitemoe", "Granite 3 mixtures of experts", describe_granite};

}  // namespace brass
