// One entry of the list `stages`: what a stretch of a training does otherwise than the settings
// say.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace roformer {

struct StageSettings {
  std::int64_t steps = 0;
  std::optional<std::int64_t> length;        // of a row, instead of data.length
  std::optional<std::int64_t> batch;         // instead of training.batch
  std::optional<std::int64_t> accumulation;  // instead of training.accumulation
  std::optional<double> learning_rate;       // instead of training.learning_rate
  std::int64_t warmup = 0;                   // steps in which the stage's rate rises from 0
  std::filesystem::path directory;           // another data set of the same tokenizer; or empty

  bool operator==(const StageSettings&) const = default;
};

}  // namespace roformer
