// Records a trained model's attention on real text, layer by layer in one pass. Records the effect
// of positions on queries and keys, contents drawn from the tokens, the attention's targets, and
// the contribution of each rotated pair of features to the scores. Memory does not grow with the
// number of texts. H heads, L length (of the longest sequence), D head width, F token inputs of a
// head, P rotated pairs.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/attention_record.h"
#include "analysis/text_sums.h"
#include "attention/attend.h"

namespace roformer {

// H heads, P pairs.
struct FrequencyUse {
  std::vector<double> wavelengths;  // [P] tokens; infinite for a pair that is not rotated
  at::Tensor query_norm, key_norm;  // [H, P]: root of the mean square
  // [H, P + 1]: the covariance of the pair's part of the score with the score, over the visible
  // keys of a query, as a share of the score's variance. The last entry is for the features that
  // are not rotated. The shares sum to 1; a pair that works against the others has a negative one.
  at::Tensor variance_share;
  at::Tensor share_error;  // [H, P + 1]: standard errors by the texts; NaN for one
};

// Accumulates over the calls of one layer.
class FrequencyRecorder {
 public:
  // Reads the first `sequences` of the call. Ignores schemes whose scores depend on more than
  // rotated q and k.
  void add(const AttendInputs& inputs, std::int64_t sequences);
  std::optional<FrequencyUse> result() const;

 private:
  std::vector<double> wavelengths_;
  at::Tensor query_squares_, key_squares_;  // [H, P]
  RatioSums shares_;                        // [H, P + 1]
  double tokens_ = 0;
};

// The part of a layer's queries and keys that comes from positions, before any rotation
// (PositionMoments). If all texts have the same token at a position ([CLS] at the beginning), its
// effect cannot be separated from the position's and counts as content.
struct PositionMeans {
  at::Tensor query, key;  // [H, L, D] float
};

// The targets of each head's attention. Distances are query - key, so the past is positive.
struct AttentionMasses {
  std::int64_t length = 0;  // L
  at::Tensor by_distance;   // [H, 2L - 1] float64: mass, from distance -(L - 1) on; sums to 1
  at::Tensor uniform;       // [2L - 1]: the same of equal weights for all visible keys
  at::Tensor entropy;       // [H] nats, the mean over queries
  // [H]: mean mass over the queries that see such a key; for `first` without the first query
  // itself.
  at::Tensor own, previous, next, first;
  // Standard errors over the texts, NaN for one text: [H, R] for the mass in each of
  // distance_ranges(L), and [H] for the means above.
  at::Tensor range_error, entropy_error, own_error, previous_error, next_error, first_error;
};

// The figures of a head, in the order of the tables.
struct MassFigure {
  const char* key;
  const char* title;
  at::Tensor AttentionMasses::*mean;
  at::Tensor AttentionMasses::*error;
};
inline constexpr std::array<MassFigure, 5> kMassFigures{
    {{"entropy", "entropy", &AttentionMasses::entropy, &AttentionMasses::entropy_error},
     {"own", "itself", &AttentionMasses::own, &AttentionMasses::own_error},
     {"previous", "token before", &AttentionMasses::previous, &AttentionMasses::previous_error},
     {"next", "next token", &AttentionMasses::next, &AttentionMasses::next_error},
     {"first", "first token", &AttentionMasses::first, &AttentionMasses::first_error}}};

// The record of one layer.
struct LayerRecord {
  const PositionScheme* scheme = nullptr;
  const AttentionSettings* attention = nullptr;
  std::optional<AttentionContext> context;  // of one sequence of the greatest length
  PositionMeans positions;
  at::Tensor query, key;        // [N, H, D]: contents, without what positions add
  at::Tensor key_token_inputs;  // [N, H, F], or undefined
  AttentionMasses masses;
  std::optional<FrequencyUse> frequencies;  // of schemes that rotate
};

struct RecordOptions {
  std::int64_t layers = 0;
  std::int64_t length = 0;
  std::int64_t tokens = 0;    // that will be seen
  std::int64_t contents = 0;  // N
  std::int64_t frequency_sequences = 8;
  std::vector<std::int64_t> same_tokens;  // positions where all texts hold the same token
  std::uint64_t seed = 0;                 // of the choice of tokens for the contents
};

class AttentionRecorder : public AttentionObserver {
 public:
  explicit AttentionRecorder(const RecordOptions& options);
  ~AttentionRecorder() override;

  bool wants(std::int64_t) const override { return true; }
  at::Tensor attend(const AttendInputs& inputs, const at::Tensor& token_inputs) override;

  // After the last batch.
  LayerRecord layer(std::int64_t layer) const;

 private:
  struct Layer;
  RecordOptions options_;
  std::vector<std::int64_t> query_tokens_, key_tokens_;  // in order
  std::vector<std::size_t> order_;                       // of the contents drawn
  std::vector<std::unique_ptr<Layer>> layers_;
};

// All ranges for texts of `length` tokens, as first and last distance, |first| <= |last|, in the
// order of the distances.
std::vector<std::pair<std::int64_t, std::int64_t>> distance_ranges(std::int64_t length);

// Distances query - key: from `first` to `last`, both included, |first| <= |last|.
struct DistanceBin {
  std::int64_t first = 0, last = 0;
  std::vector<double> mass;            // [H]
  std::vector<double> standard_error;  // [H] of the mass
  double uniform = 0;                  // of equal weights
};

// In the order of the distances, without ranges that no query sees.
std::vector<DistanceBin> distance_bins(const AttentionMasses& masses);

}  // namespace roformer
