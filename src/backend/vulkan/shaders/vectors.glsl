// Memory in pieces of 8 and 16 bytes. A file that needs them includes this once or more.
#ifndef VECTORS_GLSL
#define VECTORS_GLSL
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Quads {
  uvec4 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer QuadsOut {
  uvec4 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Pairs {
  uvec2 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer PairsOut {
  uvec2 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Vectors {
  vec4 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer VectorsOut {
  vec4 v[];
};
#endif
