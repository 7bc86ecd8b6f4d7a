// The typed configuration: what a YAML file, its `extends` and the flags come to. It is parsed once
// by config/; no other room sees a key as a string. Every member is a key of the schema under the
// same path (`model.layers`, `position.rope.base`), where its unit, help and check are written.
// Enumerations are declared beside the struct that uses them, their texts in schema.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/period.h"

namespace roformer {

enum class TaskKind { mlm, causal_lm, glue };
enum class DeviceKind { automatic, cpu, cuda };
enum class Precision { automatic, fp32, bf16 };

enum class TokenizerKind { automatic, sentencepiece, wordpiece, characters, bytes };

struct TokenizerSettings {
  TokenizerKind kind = TokenizerKind::automatic;  // automatic: from the file
  std::filesystem::path file;                     // empty: the prepared data's own
  bool cased = false;                             // wordpiece only
};

struct MaskingSettings {
  double probability = 0.15;  // of all tokens
  double mask = 0.8;          // share of the chosen that becomes [MASK]
  double random = 0.1;        // share that becomes a random token; the rest stays
  bool whole_word = false;
};

struct DataSettings {
  std::filesystem::path directory;   // prepared shards (mlm, causal_lm) or a GLUE folder (glue)
  std::int64_t length = 128;         // tokens in a row
  bool cross_documents = true;       // attention crosses the separators inside a filled row
  double validation_fraction = 0;  // that the data set must have; 0: any
  std::int64_t validation_tokens = 200'000;  // at most this many per check
  std::int64_t loader_threads = 1;
  std::int64_t prefetch = 4;  // batches made ahead
  MaskingSettings masking;
};

enum class GlueTask { cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli };
enum class ClassifierHead { bert, roformer };

struct GlueSettings {
  GlueTask task = GlueTask::mrpc;
  ClassifierHead head = ClassifierHead::bert;
  double head_dropout = 0.1;
};

enum class NormPlacement { post, pre };
enum class EmbeddingScale { none, sqrt_width };
enum class ActivationKind { gelu, gelu_tanh, relu };

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

enum class AttentionKernel { softmax, elu, favor };
enum class LogNScaling { none, query, query_unclipped, encoder };
enum class LinearRotation { numerator, before };

struct AttentionSettings {
  AttentionKernel kernel = AttentionKernel::softmax;
  double dropout = 0.0;
  std::int64_t window = 0;                // tokens a query sees (inference); 0: all
  LogNScaling log_n = LogNScaling::none;  // log-n scaling of the scores
  std::int64_t log_n_length = 512;        // the training length in the logarithm's base
  std::int64_t features = 0;              // FAVOR+ features; 0: D ln D rounded to even
  std::int64_t redraw = 1000;             // steps between redraws of the FAVOR+ matrix
  bool favor_stabilize = true;
  double favor_epsilon = 1e-4;
  LinearRotation linear_rotation = LinearRotation::numerator;  // eq. 19, or rotate first
};

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

enum class ScheduleKind { constant, linear, cosine, inverse_square_root };

struct TrainingSettings {
  Period steps{1000, Period::Unit::steps};  // how long to train, in any unit of a period
  std::int64_t batch = 32;                  // rows of a micro-batch (glue: sequences)
  std::int64_t batch_tokens = 0;            // when > 0, batches are filled up to this many tokens
  std::int64_t accumulation = 1;            // micro-batches a step
  double learning_rate = 1e-3;
  ScheduleKind schedule = ScheduleKind::linear;
  Period warmup{0, Period::Unit::steps};
  double warmup_ratio = 0;         // share of the steps; used when warmup is zero
  double final_learning_rate = 0;  // as a share of the peak, at the end of linear and cosine
  double layer_decay = 1;          // factor of the learning rate per layer below the head
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip = 1.0;                // global gradient norm; 0: none
  std::int64_t max_bad_steps = 10;  // non-finite steps in a row before stopping
  Period log_every{50, Period::Unit::steps};
  Period validate_every{500, Period::Unit::steps};
  Period save_every{500, Period::Unit::steps};
  std::int64_t keep_last = 1;
  std::int64_t keep_best = 1;
  std::int64_t patience = 0;  // validations without improvement before stopping; 0: never
  Precision precision = Precision::automatic;
};

struct Settings {
  TaskKind task = TaskKind::mlm;
  std::string run;                      // name under `runs`; empty: from the file's name
  std::filesystem::path runs = "runs";  // folder that holds the runs
  std::uint64_t seed = 1;
  DeviceKind device = DeviceKind::automatic;
  std::int64_t threads = 0;  // 0: all cores

  TokenizerSettings tokenizer;
  DataSettings data;
  GlueSettings glue;
  ModelSettings model;
  AttentionSettings attention;
  PositionSettings position;
  TrainingSettings training;
};

}  // namespace roformer
