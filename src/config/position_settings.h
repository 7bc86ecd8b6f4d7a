// Section `position` of the configuration.
#pragma once

#include <cstdint>
#include <string>

namespace roformer {

enum class SinusoidalLayout { interleaved, concat, tensor2tensor };
enum class RotaryLayout { interleaved, half };
enum class RopeScaling { none, linear, ntk, dynamic_ntk, yarn, yarn_paper, llama3, ntk_mixed };
enum class DebertaIndex { paper, code };
enum class AlibiVariant { causal, symmetric, asymmetric };
enum class KerpleVariant { log, power };
enum class ScoreScale { none, sqrt_d };

// One struct a scheme, in the order of the registry.
struct PositionSettings {
  std::string scheme = "rope";

  struct Sinusoidal {
    SinusoidalLayout layout = SinusoidalLayout::interleaved;
    double base = 10000;
    double scale = 1;  // factor of the table when it is added to the embedding
  } sinusoidal;
  struct Learned {
    std::int64_t length = 512;
    double initialization = 0.02;
    bool hierarchical = false;
    double hierarchical_alpha = 0.4;
  } learned;
  struct Shaw {
    std::int64_t left = 16;   // clip of j - i on the left
    std::int64_t right = 16;  // and on the right
    bool values = true;
  } shaw;
  struct MusicTransformer {
    std::int64_t length = 512;
  } music_transformer;
  struct Nezha {
    std::int64_t clip = 64;
    double base = 10000;
  } nezha;
  struct TransformerXl {
    double base = 10000;
    std::int64_t clamp = 0;  // largest distance; 0: no clamp
    bool untie = false;      // u and w of each layer's own
  } transformer_xl;
  struct T5 {
    std::int64_t buckets = 32;
    std::int64_t max_distance = 128;
    ScoreScale scale = ScoreScale::sqrt_d;
  } t5;
  struct Tupe {
    std::int64_t length = 512;
    bool relative = true;  // TUPE-R, else TUPE-A
    bool untie_cls = true;
    bool norm = false;  // LayerNorm of the table, as the authors' code
    double norm_epsilon = 1e-5;
    std::int64_t buckets = 32;
    std::int64_t max_distance = 128;
  } tupe;
  struct Deberta {
    std::int64_t span = 512;  // k
    bool content_to_position = true;
    bool position_to_content = true;
    DebertaIndex index = DebertaIndex::paper;
    bool share_projections = false;  // the layer's own query and key projections
    std::int64_t buckets = 0;        // log buckets of v2; 0: none
    std::int64_t max_position = 512;
    bool norm = false;  // LayerNorm of the table (v3)
    double norm_epsilon = 1e-7;
  } deberta;
  struct Alibi {
    AlibiVariant variant = AlibiVariant::symmetric;
    bool trained = false;  // slopes of the asymmetric variant
  } alibi;
  struct Kerple {
    KerpleVariant variant = KerpleVariant::log;
  } kerple;
  struct Fire {
    std::int64_t hidden = 32;
    std::int64_t hidden_layers = 1;
    double initial_length = 512;  // L0
    double epsilon = 1e-6;
  } fire;
  struct Sandwich {
    double base = 10000;
    std::int64_t width = 128;  // d-bar
  } sandwich;
  struct Cope {
    std::int64_t positions = 64;
    bool scaled = false;  // the released code's division of the position term
  } cope;
  struct Rope {
    RotaryLayout layout = RotaryLayout::interleaved;
    double base = 10000;
    double fraction = 1;  // share of each head that is rotated
    bool value = false;   // rotate v too
    std::int64_t offset = 0;
    RopeScaling scaling = RopeScaling::none;
    double factor = 1;                 // s
    std::int64_t original_length = 0;  // L0; 0: data.length
    double beta_fast = 32;             // yarn
    double beta_slow = 1;
    double attention_factor = 0;      // 0: the scaling's own
    double low_frequency_factor = 1;  // llama3
    double high_frequency_factor = 4;
    double mixed_exponent = 0.75;  // b of ntk_mixed
  } rope;
  struct Xpos {
    double base = 10000;
    double gamma = 0.4;
    double scale_base = 512;
    bool centered = true;
    bool block_causal = true;  // block-causal attention at inference beyond the training length
    std::int64_t original_length = 0;  // 0: data.length
  } xpos;
  struct Rerope {
    RotaryLayout layout = RotaryLayout::half;
    double base = 10000;
    std::int64_t window = 512;
    double leak = 0;  // k of leaky ReRoPE; 0: ReRoPE
  } rerope;
};

}  // namespace roformer
