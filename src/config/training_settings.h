// Sections `training` and `distributed` of the configuration, and the key `device`.
#pragma once

#include <cstdint>

#include "base/period.h"

namespace roformer {

enum class DeviceKind { automatic, cpu, cuda };
enum class Precision { automatic, fp32, bf16 };
enum class GradientReduction { fast, deterministic };
// How attention in bf16 computes the slopes of its scores where a GPU has several ways.
enum class AttentionGradient { fast, exact };
// The parts of the forward pass that the backward pass computes again instead of storing them.
enum class Recomputation { none, layer, attention };
enum class ScheduleKind { constant, linear, cosine, inverse_square_root, wsd };
enum class OptimizerKind { adamw, muon };
// The factor of Muon's updates: that of its authors, or one that gives them the size of AdamW's.
enum class MuonScale { original, match_rms_adamw };

// Muon (Jordan 2024) for matrices inside the layers; AdamW trains the other parameters.
struct MuonSettings {
  double learning_rate = 0;  // 0: training.learning_rate
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t iterations = 5;  // of Newton and Schulz
  MuonScale scale = MuonScale::match_rms_adamw;
};
// The weights after the last step (raw), or their moving average (ema).
enum class WeightsKind { raw, ema };

struct TrainingSettings {
  Period steps{1000, Period::Unit::steps};  // how long to train, in any unit of a period
  std::int64_t batch = 32;                  // rows of a micro-batch (glue: sequences)
  std::int64_t batch_tokens = 0;            // above 0: batches are filled up to this many tokens
  std::int64_t accumulation = 1;            // micro-batches per step
  double learning_rate = 1e-3;
  ScheduleKind schedule = ScheduleKind::linear;
  double initial_learning_rate = 0;  // the rate at which the warm-up begins
  Period warmup{0, Period::Unit::steps};
  double warmup_ratio = 0;               // share of the steps; used when warmup is zero
  double final_learning_rate = 0;        // share of the peak at the end of linear, cosine and wsd
  Period decay{0, Period::Unit::steps};  // length of the decay of wsd
  double decay_ratio = 0.1;              // share of the steps; used when decay is zero
  OptimizerKind optimizer = OptimizerKind::adamw;
  MuonSettings muon;
  double layer_decay = 1;  // factor of the learning rate for each layer below the head
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double ema = 0;  // decay of the weights' moving average; 0: no average
  // The weights that rank checkpoints and that commands use unless told otherwise.
  WeightsKind weights = WeightsKind::raw;
  double clip = 1.0;                // global gradient norm; 0: none
  std::int64_t max_bad_steps = 10;  // non-finite steps in a row before stopping
  Period log_every{50, Period::Unit::steps};
  Period validate_every{500, Period::Unit::steps};
  Period save_every{500, Period::Unit::steps};
  std::int64_t keep_last = 1;
  std::int64_t keep_best = 1;
  std::int64_t patience = 0;  // validations without improvement before stopping; 0: never
  Precision precision = Precision::automatic;
  AttentionGradient attention_gradient = AttentionGradient::fast;
  bool check_finite = false;  // check every layer's output
  Recomputation recompute = Recomputation::none;
  GradientReduction reduce = GradientReduction::fast;
  bool graphs = true;            // replay recorded passes on a GPU
  bool shard_optimizer = false;  // each process keeps the moments of one part of the parameters
  bool exceed_memory = false;    // begin even if the estimate exceeds the free memory
};

struct DistributedSettings {
  double timeout = 60;  // seconds
};

}  // namespace roformer
