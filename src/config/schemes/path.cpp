#include "config/schemes/path.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> path_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(PathSettings, rank,
                      {.unit = "features",
                       .range = between(0, kLongest),
                       .help = "the projection to w goes through this many features (Yang 2025: "
                               "32); 0: one matrix"}),
      ROFORMER_OPTION(
          PathSettings, convolution,
          {.unit = "tokens",
           .range = between(0, 64),
           .help = "width of the causal convolution that mixes each feature of w over tokens, "
                   "followed by SiLU (3); 0: neither"}),
      ROFORMER_OPTION(PathSettings, epsilon,
                      {.range = above(0), .help = "added to the square of w's norm"}),
      ROFORMER_OPTION(PathSettings, forget_gate,
                      {.help = "add the forget gates of fox (PaTH-FoX)"}),
      ROFORMER_OPTION(
          PathSettings, gate_scaled,
          {.help = "divide the gates' logarithms by the root of the head's width, as the "
                   "released code does and fox does not"}),
  };
}

void check_path(const SchemeCheck& check) {
  const auto& path = check.options<PathSettings>();
  if (path.gate_scaled || path.forget_gate) return;
  check.problem({check.option("gate_scaled"), check.option("forget_gate")},
                "there is no forget gate to scale", check.option("forget_gate") + ": true");
}

}  // namespace

SchemeDefinition define_path() {
  return {
      .facts =
          {.name = "path",
           .family = "relative",
           .causal_only = true,
           .formula = "S_ij = q_i H_i H_i-1 .. H_j+1 k_j / sqrt(D), H_l = I - b_l w_l w_l^T "
                      "of each token",
           .cost =
               "about 5 products as large as q.k, on GPUs a score matrix in memory; in decoding "
               "all cached keys change",
           .longer = "yes, as far as the gates and w carry",
           .paper = "Yang 2025 (PaTH), arXiv:2505.16381"},
      .options = path_options,
      .check = check_path};
}

}  // namespace roformer
