// Section `model` of the configuration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace roformer {

enum class NormPlacement { post, pre };
enum class NormKind { layer_norm, rms_norm };
enum class EmbeddingScale { none, sqrt_width };
enum class ActivationKind { gelu, gelu_tanh, relu, swish, swiglu, geglu, geglu_tanh };
enum class LanguageHeadKind { bert, linear };

// Whether the feed-forward layer is gated: one half of the inner layer multiplies the activation of
// the other half (Shazeer 2020, eq. 6).
constexpr bool is_gated(ActivationKind kind) {
  return kind == ActivationKind::swiglu || kind == ActivationKind::geglu ||
         kind == ActivationKind::geglu_tanh;
}
// The activation that a gated kind applies to its first half. A layer without a gate uses the same
// activation in its place.
constexpr ActivationKind without_gate(ActivationKind kind) {
  if (kind == ActivationKind::swiglu) return ActivationKind::swish;
  if (kind == ActivationKind::geglu_tanh) return ActivationKind::gelu_tanh;
  return kind == ActivationKind::geglu ? ActivationKind::gelu : kind;
}

struct ModelSettings {
  std::int64_t layers = 4;
  std::int64_t width = 256;
  std::int64_t heads = 4;
  std::int64_t head_width = 0;       // 0: the width divided by the heads
  std::int64_t key_value_heads = 0;  // heads of keys and values; 0: as many as heads of queries
  std::int64_t feed_forward = 1024;
  std::int64_t embedding_width = 0;  // 0: the width; otherwise a projection follows the embedding
  std::int64_t vocabulary = 0;       // 0: the tokenizer's
  std::int64_t token_types = 0;      // 0: no token type embedding
  NormPlacement norm = NormPlacement::post;
  NormKind norm_kind = NormKind::layer_norm;
  bool embedding_norm = false;     // pre-norm: normalise the embedding; post-norm always does
  bool first_norm = true;          // pre-norm: normalise the input of the first layer's attention
  bool query_key_norm = false;     // RMSNorm of each head's queries and keys
  bool parallel_residual = false;  // both sub-layers read the layer's input
  bool bias = true;                // linear layers and norms have one
  bool query_key_value_bias = false;   // these have one even without `bias`
  bool attention_output_bias = false;  // so has the attention's output
  bool feed_forward_bias = false;      // so have the layers of the feed-forward network
  ActivationKind activation = ActivationKind::gelu;
  double norm_epsilon = 1e-12;
  double dropout = 0.1;
  LanguageHeadKind head = LanguageHeadKind::bert;
  bool tie_output = true;  // the language head's last layer is the token table
  EmbeddingScale embedding_scale = EmbeddingScale::none;
  double initialization = 0.02;  // standard deviation of the truncated normal
  std::string family;          // preferred for an export ("distilbert"); empty: the first that fits
  std::filesystem::path from;  // start from the weights of a run, checkpoint or Hugging Face folder
  bool from_weights = true;    // false: take only its shape, scheme and tokenizer
  bool freeze_embeddings = false;
  std::int64_t freeze_layers = 0;  // the number of lowest layers that are not trained

  // The values that a member of 0 selects.
  std::int64_t features_of_head() const { return head_width > 0 ? head_width : width / heads; }
  std::int64_t heads_of_keys() const { return key_value_heads > 0 ? key_value_heads : heads; }
};

}  // namespace roformer
