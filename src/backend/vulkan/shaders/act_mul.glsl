// act(gate) · up; kClampedSwiglu bends both (graph/act_kind.h).
float act_mul(uint kind, float gate, float up) {
  if (kind == kClampedSwiglu) up = (isnan(up) ? up : clamp(up, -7.0, 7.0)) + 1.0;
  return activate(kind, gate) * up;
}
