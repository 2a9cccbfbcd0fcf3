// A program that waits inside for the programs before it, where no barrier stands between them (overlap.h): loads of what no
// program of the step writes come before wait_for_input(), all else behind it. say_done() is the last of each workgroup,
// with all its threads, and no workgroup goes without waiting. The including file has OVERLAP_ID, the number of the constant.
#extension GL_KHR_memory_scope_semantics : require
layout(constant_id = OVERLAP_ID) const uint kOverlap = 0;  // 1: it waits; 2: it is waited for
const bool kWaits = (kOverlap & 1u) != 0u, kSays = (kOverlap & 2u) != 0u;
// Reads of a counter after which a workgroup waits no more. Mesa's CPU driver ends all loops of an invocation after 65,535 turns
// together, without a word.
const uint kMostReads = 1u << 15, kCounterBytes = 32u;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Fault {
  uint waited_in_vain;
};
layout(buffer_reference, std430, buffer_reference_align = 16) devicecoherent buffer Counter {
  uint left, unused;  // workgroups that are not done
  uint64_t fault;
};

// One thread reads the counter: all of them would keep those from memory who are to count.
void wait_for_input(uint64_t counter) {
  if (!kWaits) return;
  if (gl_LocalInvocationIndex == 0) {
    for (uint reads = 0; atomicLoad(Counter(counter).left, gl_ScopeDevice, 0, 0) != 0; ++reads) {
      if (reads < kMostReads) continue;
      Fault(Counter(counter).fault).waited_in_vain = 1;
      break;
    }
    memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsAcquire);
  }
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease);
}

// To the counter of those who come next, which lies behind the program's own.
void say_done(uint64_t counter) {
  if (!kSays) return;
  controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                 gl_SemanticsAcquireRelease);
  if (gl_LocalInvocationIndex == 0) {
    memoryBarrier(gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelease);
    atomicAdd(Counter(counter + kCounterBytes).left, 0xffffffffu, gl_ScopeDevice, 0, 0);
  }
}
