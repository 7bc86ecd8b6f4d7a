// The model of the task embedding: an encoder whose pooled states are the vectors of texts (Reimers
// and Gurevych 2019). It has no parameters besides the encoder's. N texts, M width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "config/settings.h"
#include "tasks/text_model.h"

namespace roformer {

// Rows of length 1; a row of zeros stays.
at::Tensor unit_rows(const at::Tensor& vectors);

class Embedder : public TextModel {
 public:
  static constexpr std::string_view kNoun = "text embedder";

  // `vocabulary` has the same meaning as in LanguageModel. settings.embedding says how texts are
  // pooled and whether the vectors that predict() returns have length 1.
  Embedder(const Settings& settings, std::int64_t vocabulary, const ComputePlan& plan);

 private:
  bool normalize_;

  at::Tensor predicted(const TextBatch& batch) const override;
};

using TrainedEmbedder = RunOf<Embedder>;

}  // namespace roformer
