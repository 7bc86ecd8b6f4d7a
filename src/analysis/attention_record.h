// What a trained model's attention does on real text, recorded layer by layer in one pass: what
// positions add to queries and keys, contents drawn from the tokens, where the attention goes, and
// what rotated pairs of features give to the scores. Nothing of it grows with the number of texts.
// H heads, L length (of the longest sequence), D head width, F token inputs of a head.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/frequency_use.h"
#include "attention/attend.h"

namespace roformer {

// What positions add to the queries and keys of a layer before any rotation, as PositionMoments
// has it. Where all texts hold the same token ([CLS] at the beginning), nobody can tell the
// position from what stands there: it counts as content.
struct PositionMeans {
  at::Tensor query, key;  // [H, L, D] float
};

// Where the attention of each head goes. Distances are query - key, so that the past is positive.
struct AttentionMasses {
  std::int64_t length = 0;  // L
  at::Tensor by_distance;   // [H, 2L - 1] float64: mass, from distance -(L - 1) on; sums to 1
  at::Tensor uniform;       // [2L - 1]: the same of equal weights for all visible keys
  at::Tensor entropy;       // [H] nats, the mean over queries
  // [H]: mean mass over the queries that see such a key; of `first` but for the first query itself.
  at::Tensor own, previous, next, first;
  // Standard errors by the texts, NaN for one: of the mass in each of distance_ranges(L), [H, R],
  // and of the means above, [H].
  at::Tensor range_error, entropy_error, own_error, previous_error, next_error, first_error;
};

// What is recorded of one layer.
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
  std::uint64_t seed = 0;                 // of which tokens the contents are of
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

}  // namespace roformer
