// The lists `data.sources` and `stages` of the configuration: their entries and their form as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// A prepared data set, an entry of `data.sources`. A training draws rows in proportion to the
// weights.
struct DataSource {
  std::filesystem::path directory;
  double weight = 1;

  bool operator==(const DataSource&) const = default;
};

// An entry of the list `stages`: the settings that differ in one part of the training.
struct StageSettings {
  std::int64_t steps = 0;
  std::optional<std::int64_t> length;        // of a row, instead of data.length
  std::optional<std::int64_t> batch;         // instead of training.batch
  std::optional<std::int64_t> accumulation;  // instead of training.accumulation
  std::optional<double> learning_rate;       // instead of training.learning_rate
  std::int64_t warmup = 0;                   // steps in which the stage's rate rises from 0
  // another data set with the same tokenizer; empty: the same data
  std::filesystem::path directory;

  bool operator==(const StageSettings&) const = default;
};

// The lists as text: `[{directory: prepared/wiki, weight: 3}]` and `[{steps: 200k, length: 512}]`.
// Throws InvalidValue, which names the entry and the mistake, for any other text. Relative paths
// start at `folder`.
std::vector<DataSource> parse_sources(std::string_view text, const std::filesystem::path& folder);
std::string print_sources(const std::vector<DataSource>& sources);
std::vector<StageSettings> parse_stages(std::string_view text, const std::filesystem::path& folder);
std::string print_stages(const std::vector<StageSettings>& stages);

std::int64_t total_steps(const std::vector<StageSettings>& stages);

}  // namespace roformer
