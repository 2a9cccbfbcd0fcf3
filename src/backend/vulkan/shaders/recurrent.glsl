// What operations with a state share: the rows of one sequence go in order; the state is read from one page and left in
// another, and in the pages of snapshots on the way.
struct Part {
  uint begin, end;
  int from, to;  // pages; from −1: the text begins
};
// parts: [begin, end, from, to] each; snapshots: [T] pages, −1: none.
Part part_at(Ints parts, uint i) {
  return Part(uint(parts.v[4 * i]), uint(parts.v[4 * i + 1]), parts.v[4 * i + 2], parts.v[4 * i + 3]);
}
