// Which ISA tiers this processor and operating system can run.
#pragma once

namespace brass::cpu {

bool supports_x86_64_v2();
bool supports_avx2();
bool supports_avx_vnni();
bool supports_avx512_vnni();
bool supports_avx512_bf16();
bool supports_amx();  // asks the kernel for the use of tile registers, for the whole process

}  // namespace brass::cpu
