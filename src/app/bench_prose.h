// The text that the bench reads: real prose, as long as anyone asks for.
#pragma once

#include <cstddef>
#include <string>

namespace brass::app {

// At least `bytes` of text. Paragraphs come back in another order under a numbered heading, so no part of it is a
// repetition of the part before. The same bytes on every machine.
std::string bench_prose(size_t bytes);

}  // namespace brass::app
