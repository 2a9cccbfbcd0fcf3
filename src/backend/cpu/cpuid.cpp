#include "backend/cpu/cpuid.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace brass::cpu {
namespace {

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(uint32_t leaf, uint32_t sub = 0) {
  Registers r;
  __get_cpuid_count(leaf, sub, &r.a, &r.b, &r.c, &r.d);
  return r;
}

bool has(uint32_t reg, int bit) { return (reg >> bit & 1) != 0; }

// The state components that the operating system saves (XCR0).
uint64_t saved_state() {
  if (!has(cpuid(1).c, 27)) return 0;  // OSXSAVE
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

constexpr uint64_t kAvxState = 0x6, kAvx512State = 0xe6, kTileState = 0x60000;

bool saves(uint64_t state) { return (saved_state() & state) == state; }

}  // namespace

bool supports_x86_64_v2() { return true; }  // the floor of the whole program

bool supports_avx2() {
  const Registers one = cpuid(1), seven = cpuid(7);
  const bool fma = has(one.c, 12), f16c = has(one.c, 29), avx2 = has(seven.b, 5), bmi1 = has(seven.b, 3),
             bmi2 = has(seven.b, 8);
  return saves(kAvxState) && fma && f16c && avx2 && bmi1 && bmi2 && has(cpuid(0x80000001).c, 5);  // lzcnt
}

bool supports_avx_vnni() { return supports_avx2() && has(cpuid(7, 1).a, 4); }

bool supports_avx512_vnni() {
  const Registers seven = cpuid(7);
  const bool v4 =
      has(seven.b, 16) && has(seven.b, 17) && has(seven.b, 28) && has(seven.b, 30) && has(seven.b, 31);
  const bool vnni = has(seven.c, 11), vbmi = has(seven.c, 1);
  return supports_avx2() && saves(kAvx512State) && v4 && vnni && vbmi;
}

bool supports_avx512_bf16() { return supports_avx512_vnni() && has(cpuid(7, 1).a, 5); }

bool supports_amx() {
  const Registers seven = cpuid(7);
  if (!supports_avx512_bf16() || !saves(kTileState) || !has(seven.d, 24) || !has(seven.d, 25)) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // arch_prctl(ARCH_REQ_XCOMP_PERM), Linux 5.16
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace brass::cpu
