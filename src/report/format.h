// Quantities as people read them: three significant digits and a unit.
//
// Owns: the spelling of bytes, times and rates.
// Must not know: terminals, JSON (which gets plain numbers).
// Invariants: decimal prefixes (1 MB = 10^6 bytes); a value that rounds up to the next unit is shown in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace brass::report {

std::string format_bytes(uint64_t bytes);             // "999 B", "1.10 GB", "92.3 MB"
std::string format_bandwidth(double bytes_a_second);  // "512 MB/s"
std::string format_seconds(double seconds);  // "850 ns", "12.3 ms", "4.56 s", "2 min 05 s", "1 h 02 min"
std::string format_tps(std::optional<double> tokens_a_second);  // "98.1 tok/s", "no rate"
std::string format_count(double count);  // "999", "1.54 G", "152 M" (parameters, flops)

}  // namespace brass::report
