// What a report says of the machine, and how much of it others used meanwhile.
//
// Owns: reading /proc and /sys. Must not know: models.
// Invariants: what the system does not say is left out, not guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace brass::app {

std::string processor_name();                // "AMD EPYC 9V74"; "" where it is not said
std::string system_name();                   // "Linux 6.1.0"
std::string clock_text();                    // "2.6 … 3.7 GHz now"; "" where it is not readable
std::optional<uint64_t> available_memory();  // bytes
double timer_resolution();                   // seconds between two different readings of the clock
double timer_cost();                         // seconds of one reading
std::string now_text();                      // "2026-11-30 14:05 UTC"

// The share of all processors that other processes took between two looks.
class Neighbours {
 public:
  Neighbours() { restart(); }
  void restart();
  std::optional<double> share() const;  // nothing where the system does not say, or no time passed

 private:
  struct Ticks {
    double busy = 0, all = 0, own = 0;  // seconds
    bool known = false;
  };
  static Ticks look();
  Ticks begin_;
};

}  // namespace brass::app
