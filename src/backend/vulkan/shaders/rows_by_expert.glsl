// Which rows of x a workgroup multiplies, and where their results go.
//   kGrouped  rows of x by expert: `tiles` [expert, first, count] name runs of `order`, whose entries are row · used + slot
// Who includes this has kGrouped and a push constant block `p` with what is read here.
uint begin, count;  // of the workgroup's rows of x

// False: there are none. `columns`: how many a workgroup multiplies at most.
bool find_rows(uint columns, out uint expert) {
  expert = 0;
  if (kGrouped != 0) {
    expert = uint(p.tiles.v[3 * gl_WorkGroupID.y]);
    begin = uint(p.tiles.v[3 * gl_WorkGroupID.y + 1]);
    count = uint(p.tiles.v[3 * gl_WorkGroupID.y + 2]);
  } else {
    begin = gl_WorkGroupID.y * columns;
    count = min(columns, p.tokens - begin);
  }
  return count > 0;
}

// Row of x, and the place of its first result, of column c of the workgroup.
uint entry_of(uint c) { return kGrouped != 0 ? uint(p.order.v[begin + c]) : begin + c; }
uint x_row(uint entry) { return kGrouped != 0 && p.own_input == 0 ? entry / p.used : entry; }
uint y_place(uint entry) {
  return kGrouped != 0 ? entry / p.used * p.y_stride + entry % p.used * p.rows : entry * p.y_stride;
}
