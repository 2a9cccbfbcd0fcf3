#include "backend/ref/prepared.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace brass::ref {

namespace {
constexpr uint64_t kAlign = 256;
constexpr uint64_t align_up(uint64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }
}  // namespace

Prepared::Bytes Prepared::zeros(uint64_t bytes) {
  const uint64_t size = std::max(align_up(bytes), kAlign);
  Bytes memory(static_cast<std::byte*>(std::aligned_alloc(kAlign, size)), &std::free);
  ENSURE(memory != nullptr, "no memory for {} bytes of values", size);
  std::memset(memory.get(), 0, size);
  return memory;
}

Prepared::Prepared(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)),
      internal_offset_(plan_->values.size(), 0),
      arena_(zeros(plan_->arena_bytes)),
      internal_(nullptr, &std::free) {
  uint64_t largest = 0;
  for (const Step& step : plan_->steps) {
    uint64_t end = 0;
    for (const uint32_t o : step.ops)
      for (const ValueId v : plan_->ops[o].out) {
        if (plan_->place(v).storage != Storage::kInternal) continue;
        internal_offset_[static_cast<size_t>(v)] = end;
        end = align_up(end + plan_->place(v).bytes);
      }
    largest = std::max(largest, end);
  }
  internal_ = zeros(largest);
}

std::byte* Prepared::base(ValueId v) const {
  const Placed& p = plan_->place(v);
  if (p.storage == Storage::kInternal) return internal_.get() + internal_offset_[static_cast<size_t>(v)];
  return arena_.get() + p.offset;
}

uint32_t Prepared::used_rows(ValueId v, const Batch& batch) const {
  return static_cast<uint32_t>(plan_->value(v).rows == Rows::kT ? batch.ids.size() : batch.rows.size());
}

RowsView Prepared::rows(ValueId v, const Batch& batch) const {
  ENSURE(!plan_->value(v).quantized(), "'{}' is quantized", plan_->value(v).name);
  return {reinterpret_cast<float*>(base(v)), plan_->place(v).stride, used_rows(v, batch),
          plan_->value(v).width};
}

QuantizedView Prepared::quantized(ValueId v, const Batch& batch) const {
  const Value& value = plan_->value(v);
  ENSURE(value.quantized(), "'{}' is not quantized", value.name);
  const QuantizedLayout layout =
      quantized_layout(value.width, value.rows == Rows::kT ? plan_->key.t : plan_->key.r, value.int8_terms);
  std::byte* at = base(v);
  return {reinterpret_cast<int8_t*>(at),
          value.int8_terms > 1 ? reinterpret_cast<int8_t*>(at + layout.seconds) : nullptr,
          reinterpret_cast<float*>(at + layout.scales),
          reinterpret_cast<float*>(at + layout.sums),
          layout.code_stride,
          layout.scale_stride,
          used_rows(v, batch),
          value.width};
}

float* Prepared::row(ValueId v, uint32_t r) const {
  return reinterpret_cast<float*>(base(v)) + size_t{r} * plan_->place(v).stride;
}

void Prepared::copy_private(ValueId v, const Batch& batch) const {
  const Placed& p = plan_->place(v);
  if (p.storage != Storage::kPrivate) return;
  const auto copy_rows = [&](auto* first, size_t stride, uint32_t width) {
    for (uint32_t copy = 1; copy < plan_->caps.threads; copy++)
      for (uint32_t i = 0; i < used_rows(v, batch); i++)
        std::copy_n(first + i * stride, width, first + copy * p.bytes / sizeof *first + i * stride);
  };
  if (!plan_->value(v).quantized()) {
    const RowsView r = rows(v, batch);
    copy_rows(r.data, r.stride, r.width);
    return;
  }
  const QuantizedView q = quantized(v, batch);
  const uint32_t groups = (q.width + 31) / 32;
  copy_rows(q.codes, q.code_stride, q.width);
  if (q.seconds != nullptr) copy_rows(q.seconds, q.code_stride, q.width);
  copy_rows(q.scale, q.scale_stride, groups);
  copy_rows(q.sum, q.scale_stride, groups);
}

}  // namespace brass::ref
