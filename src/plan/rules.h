// Named fusion rules: which operations may run as one step.
//
// Owns: the list of rules and what each joins. Must not know how a device runs the joined step.
// A rule looks at steps as they are and merges neighbours; later rules match the results of earlier ones.
// Every rule can be switched off (Caps::rules). Joining never changes the order of arithmetic within an
// operation, with the exceptions that have names here: they multiply by a norm's factor behind a product.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace brass {

struct Rule {
  std::string_view name;
  std::string_view joins;  // for people
  void (*apply)(Plan& plan);
};

// In the order in which compile applies them.
std::span<const Rule> all_rules();
// Behind those: rules for devices that pay for every step (a dispatch), whatever is in it.
std::span<const Rule> dispatch_rules();
// A product's sum with a residual, the norm of it and the int8 form, where all that reads this form are products: they can
// multiply their results by the row's factor 1 / rms, which is known only when all of the row is there. So codes are made of
// (value · gain) as it comes, without the factor (Placed::norm). Values differ by roundings from those of the steps apart.
inline constexpr std::string_view kFoldNorm = "fold_norm";
// A norm and a product of f32 weights that reads it: a copy of the norm where int8 products read it, too.
inline constexpr std::string_view kNormLinear = "norm_linear";
// The choice of experts and their first products.
inline constexpr std::string_view kRouteGlu = "route_moe_glu_quant";
// Products of one value in int8, and the short convolution over the rows of one of them.
inline constexpr std::string_view kLinearConv = "linear_conv";
// Whether such devices take this product for a router, which they join with the norm before it: f32 weights in whole vectors
// of four.
bool is_router(const Plan& plan, const Op& op);
// Whether such devices compute this attention of few rows by splits of whole pages: its heads are whole vectors of four.
bool splits_over_positions(const AttentionAttrs& attention);
// Whether they share a head's state, few rows at a time, among whole groups of threads.
bool steps_by_shares(const DeltaAttrs& delta);

}  // namespace brass
