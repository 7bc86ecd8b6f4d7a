#include "config/stages.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "config/suggest.h"
#include "config/value.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

const std::vector<std::string> kFields{"steps",         "length", "batch",    "accumulation",
                                       "learning_rate", "warmup", "directory"};

StageSettings parse_stage(const YAML::Node& node, const std::filesystem::path& folder) {
  StageSettings stage;
  if (!node.IsMap()) throw InvalidValue("{steps: N, …}");
  const Range rows = between(1, 1 << 20);
  for (const auto& pair : node) {
    const std::string field = pair.first.Scalar();
    if (!pair.second.IsScalar()) throw InvalidValue(field + " as a single value");
    const std::string text = pair.second.Scalar();
    try {
      if (field == "steps") {
        stage.steps = parse_integer(text, between(1, 1e12));
      } else if (field == "length") {
        stage.length = parse_integer(text, between(2, 1 << 20));
      } else if (field == "batch") {
        stage.batch = parse_integer(text, rows);
      } else if (field == "accumulation") {
        stage.accumulation = parse_integer(text, rows);
      } else if (field == "learning_rate") {
        stage.learning_rate = parse_number(text, above(0));
      } else if (field == "warmup") {
        stage.warmup = parse_integer(text, at_least(0));
      } else if (field == "directory") {
        stage.directory = (folder / text).lexically_normal();
      } else {
        throw InvalidValue("only " + one_of(kFields).substr(7) + " in it",
                           suggestion(field, kFields));
      }
    } catch (const InvalidValue& invalid) {
      const bool known = std::find(kFields.begin(), kFields.end(), field) != kFields.end();
      throw InvalidValue(fmt::format("{}{}", known ? field + " as " : "", invalid.what()),
                         invalid.hint.empty() ? "got " + field + ": " + text : invalid.hint);
    }
  }
  if (stage.steps == 0) throw InvalidValue("`steps`, which it lacks");
  if (stage.warmup > stage.steps) {
    throw InvalidValue(fmt::format("a warmup of at most its {} steps", stage.steps));
  }
  return stage;
}

}  // namespace

std::vector<StageSettings> parse_stages(std::string_view text,
                                        const std::filesystem::path& folder) {
  std::vector<StageSettings> stages;
  if (text.empty()) return stages;
  constexpr const char* kWanted = "a list of stages, [{steps: 1000, length: 512}, …]";
  const YAML::Node list = parse_value(text, kWanted);
  if (!list.IsSequence()) throw InvalidValue(kWanted);
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      stages.push_back(parse_stage(list[i], folder));
    } catch (const InvalidValue& invalid) {
      throw InvalidValue(fmt::format("in stage {} {}", i + 1, invalid.what()), invalid.hint);
    }
  }
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
