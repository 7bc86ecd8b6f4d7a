// Section `model` of the configuration.
#pragma once

#include <cstdint>
#include <filesystem>

namespace roformer {

enum class NormPlacement { post, pre };
enum class EmbeddingScale { none, sqrt_width };
enum class ActivationKind { gelu, gelu_tanh, relu, swish };

struct ModelSettings {
  std::int64_t layers = 4;
  std::int64_t width = 256;
  std::int64_t heads = 4;
  std::int64_t feed_forward = 1024;
  std::int64_t embedding_width = 0;  // 0: the width; else a projection follows the embedding
  std::int64_t vocabulary = 0;       // 0: the tokenizer's
  std::int64_t token_types = 0;      // 0: no token type embedding
  NormPlacement norm = NormPlacement::post;
  ActivationKind activation = ActivationKind::gelu;
  double norm_epsilon = 1e-12;
  double dropout = 0.1;
  EmbeddingScale embedding_scale = EmbeddingScale::none;
  double initialization = 0.02;  // standard deviation of the truncated normal
  std::filesystem::path from;  // start from the weights of a run, checkpoint or Hugging Face folder
  bool from_weights = true;    // false: take its shape, scheme and tokenizer only
  bool freeze_embeddings = false;
  std::int64_t freeze_layers = 0;  // the lowest N layers
};

}  // namespace roformer
