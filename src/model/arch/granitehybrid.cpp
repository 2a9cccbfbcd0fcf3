// Granite 4 hybrids (micro, tiny, small) and Bamba.
#include "model/arch/granite.h"
#include "model/architecture.h"

namespace brass {

extern const Architecture arch_granitehybrid;
const Architecture arch_granitehybrid{"granitehybrid", "Granite 4 hybrids, Bamba", describe_granite};

}  // namespace brass
