// A workgroup that is one subgroup: kLanes is its size, which the pipeline asks for. Its sums need no shared memory.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kLanes = 32;
