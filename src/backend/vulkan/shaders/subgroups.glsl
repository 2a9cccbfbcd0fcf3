// A workgroup of kThreads in whole subgroups of kLanes, whose size the pipeline asks for.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint kLanes = 32;
layout(constant_id = 1) const uint kThreads = 256;
const uint kSubgroups = kThreads / kLanes;
// Threads in the order of subgroups and lanes.
uint thread_index() { return gl_SubgroupID * kLanes + gl_SubgroupInvocationID; }
