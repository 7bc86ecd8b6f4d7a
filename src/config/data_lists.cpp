#include "config/data_lists.h"

#include <fmt/format.h>

#include "config/value.h"
#include "config/yaml_fields.h"

namespace roformer {
namespace {

StageSettings read_stage(const YamlFields& fields) {
  StageSettings stage{.steps = fields.count("steps", between(1, 1e12))};
  const Range rows = between(1, 1 << 20);
  if (fields.has("length")) stage.length = fields.count("length", between(2, 1 << 20));
  if (fields.has("batch")) stage.batch = fields.count("batch", rows);
  if (fields.has("accumulation")) stage.accumulation = fields.count("accumulation", rows);
  if (fields.has("learning_rate")) stage.learning_rate = fields.number("learning_rate", above(0));
  fields.take("warmup", stage.warmup, at_least(0));
  stage.directory = fields.file("directory");
  if (stage.steps > 0 && stage.warmup > stage.steps) {
    fields.refuse("warmup", fmt::format("at most its {} steps", stage.steps));
  }
  return stage;
}

DataSource read_source(const YamlFields& fields) {
  fields.require("directory");
  DataSource source{.directory = fields.file("directory")};
  fields.take("weight", source.weight, above(0));
  return source;
}

}  // namespace

std::vector<DataSource> parse_sources(std::string_view text, const std::filesystem::path& folder) {
  std::vector<DataSource> sources;
  YamlFields::read_list(text, folder, "source",
                        "a list of sources, [{directory: FOLDER, weight: 2}, …]",
                        [&](const YamlFields& fields) { sources.push_back(read_source(fields)); });
  return sources;
}

std::string print_sources(const std::vector<DataSource>& sources) {
  if (sources.empty()) return "";
  std::string text;
  for (const DataSource& source : sources) {
    text += fmt::format("{}{{directory: {}, weight: {}}}", text.empty() ? "" : ", ",
                        quoted_path(source.directory), print_number(source.weight));
  }
  return "[" + text + "]";
}

std::vector<StageSettings> parse_stages(std::string_view text,
                                        const std::filesystem::path& folder) {
  std::vector<StageSettings> stages;
  YamlFields::read_list(text, folder, "stage", "a list of stages, [{steps: 1000, length: 512}, …]",
                        [&](const YamlFields& fields) { stages.push_back(read_stage(fields)); });
  return stages;
}

std::string print_stages(const std::vector<StageSettings>& stages) {
  if (stages.empty()) return "";
  std::string text;
  for (const StageSettings& stage : stages) {
    text += fmt::format("{}{{steps: {}", text.empty() ? "" : ", ", stage.steps);
    if (stage.length) text += fmt::format(", length: {}", *stage.length);
    if (stage.batch) text += fmt::format(", batch: {}", *stage.batch);
    if (stage.accumulation) text += fmt::format(", accumulation: {}", *stage.accumulation);
    if (stage.learning_rate) {
      text += fmt::format(", learning_rate: {}", print_number(*stage.learning_rate));
    }
    if (stage.warmup > 0) text += fmt::format(", warmup: {}", stage.warmup);
    if (!stage.directory.empty()) {
      text += ", directory: " + quoted_path(stage.directory);
    }
    text += "}";
  }
  return "[" + text + "]";
}

std::int64_t total_steps(const std::vector<StageSettings>& stages) {
  std::int64_t steps = 0;
  for (const StageSettings& stage : stages) steps += stage.steps;
  return steps;
}

}  // namespace roformer
