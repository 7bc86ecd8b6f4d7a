// Which kernels the trained attention of this process took, and how exact its gradients are: runs
// store it (run.json), because only runs of equal arithmetic compare.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace roformer {

enum class AttentionUse {
  flash,         // LibTorch's flash kernel for packed texts
  cudnn,         // cuDNN's kernel
  tiles,         // tensor/tiled_attention.h
  running_sums,  // running_sum_attention
  libtorch,      // LibTorch's scaled_dot_product_attention
  scores,        // attend: every score in memory
  linear,        // linear_attention
};

// Notes a call, if a gradient of `query` will be computed. `rounded`: its slopes are made from an
// output of bfloat16, which loses the gradient at a nearly certain key. Not below a
// GradientRecorder, which turns gradients off. Safe from several threads.
void note_attention(AttentionUse use, const at::Tensor& query, bool rounded = false);

struct AttentionRecord {
  std::vector<std::string> forward;  // "tiles", "flash", ...; empty without a noted call
  std::string gradient;  // exact, or fast if the slopes of any call are of a rounded output
};
// The calls since the last one of this.
AttentionRecord take_attention_record();

}  // namespace roformer
