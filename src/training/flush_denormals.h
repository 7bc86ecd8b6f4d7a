// Numbers too small for the normal form make a processor many times slower, and training with sharp
// distributions makes many. Here they become zero.
#pragma once

namespace roformer {

// For the calling thread and every worker of LibTorch's parallel loops; threads that these start
// later inherit it. Call it before the first training step.
void flush_denormals();

}  // namespace roformer
