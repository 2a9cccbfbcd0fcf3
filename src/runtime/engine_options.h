// How an engine is opened.
#pragma once

#include <cstdint>

#include "graph/kv_type.h"

namespace brass {

struct EngineOptions {
  uint32_t context = 0;    // tokens of one sequence; 0: the model's own length, at most kDefaultContext
  uint32_t sequences = 1;  // that can be alive together
  // How many of them can each have a full context of their own; the others are forks that share all but two pages of
  // keys and values with one of these. 0: all.
  uint32_t full_sequences = 0;
  uint32_t chunk = 512;  // most rows of one step; at least a context where the graph needs whole texts
  KvType k_type = KvType::kF16, v_type = KvType::kF16;
  // Of models with recurrent layers: states of earlier positions that a sequence keeps, and tokens between two of them.
  uint32_t checkpoints = 8, checkpoint_interval = 512;
  // Rows of output of one step that memory is planned for (0: one of each sequence); a step with more asks for more.
  uint32_t outputs = 0;
};
inline constexpr uint32_t kDefaultContext = 32768;

}  // namespace brass
