// What a batch must be for a plan, so that no program reads or writes beyond its memory.
//
// Owns: the checks. Must not know: queues, buffers.
#pragma once

#include <span>

#include "backend/vulkan/pages.h"

namespace brass::vulkan {

// Rows of the smallest table that is read by this index.
uint32_t table_rows(const Plan& plan, EmbedIndex index);
// Fails (ENSURE) where the caller was wrong.
void check_batch(const Plan& plan, const Batch& batch, std::span<const PagePool> pools);

}  // namespace brass::vulkan
