#include "config/load.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/period.h"
#include "config/assignment.h"
#include "config/data_settings.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/stored_place.h"
#include "config/task_facts.h"
#include "config/yaml_file.h"

namespace roformer {
namespace {

// A file that describes a study is a problem.
YamlFile read_run_file(const std::filesystem::path& file, Problems& problems) {
  YamlFile yaml = read_yaml_file(file, problems);
  put_in_place(file, yaml.assignments);
  if (!yaml.sections.empty()) {
    const auto& [name, section] = *yaml.sections.begin();
    const bool varies = yaml.sections.contains("matrix") || yaml.sections.contains("variants");
    problems.add({.where = section.file.string() + ":" + std::to_string(section.line),
                  .key = name,
                  .message = varies ? "this file describes a study, not a single run"
                                    : "is of a study, and this file varies nothing",
                  .hint = varies ? "roformer study " + file.string()
                                 : "a `matrix:` or `variants:` makes it a study; without `" + name +
                                       ":` it is a single run"});
  }
  return yaml;
}

// The schema's key that an assignment means under these settings; nullptr for none.
const Key* key_of(const Assignment& assignment, const Settings& settings) {
  const std::string& name = assignment.key;
  constexpr std::string_view kPosition = "position";
  if (name == kPosition) return find_key("position.scheme");
  if (const Key* const key = find_key(name); key || !name.starts_with("position.")) return key;
  return find_key("position." + settings.position.scheme + name.substr(kPosition.size()));
}

// The task that the last assignment of it names, or the default.
TaskKind task_of(const std::vector<Assignment>& assignments) {
  Settings settings;
  for (const Assignment& assignment : assignments) {
    if (assignment.key != "task") continue;
    try {
      find_key("task")->set(settings, assignment.text, assignment.folder);
    } catch (const InvalidValue&) {
      continue;  // reported where the assignments are applied
    }
  }
  return settings.task;
}

}  // namespace

void add_source_keys(std::vector<Assignment>& assignments, const SourceKeys& source_keys) {
  const auto from =
      std::find_if(assignments.rbegin(), assignments.rend(),
                   [](const Assignment& assignment) { return assignment.key == "model.from"; });
  if (!source_keys || from == assignments.rend() || from->text.empty()) return;
  const TaskKind task = task_of(assignments);
  std::vector<Assignment> all;
  for (Override& key : source_keys((from->folder / from->text).lexically_normal())) {
    if (const Key* const known = find_key(key.key); known && !known->applies_to(task)) continue;
    all.push_back({.key = std::move(key.key),
                   .text = std::move(key.text),
                   .where = from->where + " (model.from " + from->text + ")"});
  }
  all.insert(all.end(), assignments.begin(), assignments.end());
  assignments = std::move(all);
}

Settings load_settings(const std::filesystem::path& file, const std::vector<Override>& overrides,
                       const SourceKeys& source_keys) {
  Problems problems;
  YamlFile yaml = read_run_file(file, problems);
  for (Assignment& flag : expand_shorthands(to_assignments(overrides), problems)) {
    yaml.assignments.push_back(std::move(flag));
  }
  add_source_keys(yaml.assignments, source_keys);
  const std::string shortened = shorten_warmup(yaml.assignments);
  Settings settings = resolve(yaml.assignments, problems, problems);
  problems.throw_if_any();
  if (!shortened.empty()) log::warn("{}", shortened);
  if (settings.run.empty()) settings.run = file.stem().string();
  return settings;
}

namespace {

// A key that another one leaves without a meaning.
struct IdleKey {
  std::string_view key;
  bool (*is_idle)(const Settings&);
  const char* because;
  const char* hint;
};

bool has_no_random_features(const Settings& settings) {
  return settings.attention.kernel != AttentionKernel::favor && settings.attention.layers.empty();
}
constexpr const char* kOfRandomFeatures =
    "is of FAVOR+'s random features, which this kernel does not have";
constexpr const char* kFavor = "--attention.kernel favor, or leave it out";

const std::array kIdleKeys{
    IdleKey{"training.batch",
            [](const Settings& settings) { return settings.training.batch_tokens > 0; },
            "says nothing where training.batch_tokens counts what is in a batch",
            "--training.batch_tokens N, or 0 of them for --training.batch"},
    IdleKey{"attention.features", has_no_random_features, kOfRandomFeatures, kFavor},
    IdleKey{"attention.redraw", has_no_random_features, kOfRandomFeatures, kFavor}};

const IdleKey* idle_key(const Settings& settings, const std::string& name) {
  const auto found = std::ranges::find_if(
      kIdleKeys, [&](const IdleKey& idle) { return name == idle.key && idle.is_idle(settings); });
  return found == kIdleKeys.end() ? nullptr : &*found;
}

}  // namespace

std::optional<Problem> idle_problem(const Settings& settings, const std::string& key) {
  const IdleKey* const idle = idle_key(settings, key);
  if (idle == nullptr) return std::nullopt;
  return Problem{.where = "", .key = key, .message = idle->because, .hint = idle->hint};
}

void refuse_idle_flags(const Settings& settings, const std::vector<Override>& flags) {
  Problems ignored;
  for (const Assignment& flag : expand_shorthands(to_assignments(flags), ignored)) {
    const Key* const key = key_of(flag, settings);
    if (key == nullptr) continue;
    if (const IdleKey* const idle = idle_key(settings, key->name)) {
      throw_usage("--" + key->name, idle->because, idle->hint);
    }
    const PositionSettings& position = settings.position;
    if (key->scheme().empty() || uses_scheme(position, key->scheme()) ||
        position.cross == key->scheme()) {
      continue;
    }
    throw_usage(
        "--" + key->name,
        fmt::format("is an option of {}, and the positions are {}", key->scheme(), position.scheme),
        fmt::format("--position {}, or leave it out", key->scheme()));
  }
}

GivenValues load_values(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  Problems problems, contradictions;
  const YamlFile yaml = read_run_file(file, problems);
  const std::vector<Assignment> flags = expand_shorthands(to_assignments(overrides), problems);
  std::vector<Assignment> all = yaml.assignments;
  all.insert(all.end(), flags.begin(), flags.end());
  GivenValues given{.settings = resolve(all, problems, contradictions)};
  problems.throw_if_any();
  if (given.settings.run.empty()) given.settings.run = file.stem().string();
  for (const Assignment& assignment : yaml.assignments) {
    if (const Key* const key = key_of(assignment, given.settings)) given.keys.insert(key->name);
  }
  for (const Assignment& flag : flags) {
    if (const Key* const key = key_of(flag, given.settings)) given.keys.erase(key->name);
  }
  return given;
}

Settings default_settings(const std::vector<Override>& overrides) {
  Problems problems;
  const Settings settings =
      resolve(expand_shorthands(to_assignments(overrides), problems), problems, problems);
  problems.throw_if_any();
  return settings;
}

namespace {

constexpr std::int64_t kSmokeSteps = 2;

const Assignment* last_of(const std::vector<Assignment>& assignments, const std::string& key) {
  const auto found = std::find_if(assignments.rbegin(), assignments.rend(),
                                  [&](const Assignment& one) { return one.key == key; });
  return found == assignments.rend() ? nullptr : &*found;
}

bool is_flag(const Assignment& assignment) {
  return assignment.where == "--" + assignment.key;
}

// Nothing for a text that is no period, which is reported where it is applied.
std::optional<Period> period_of(const Assignment& assignment) {
  try {
    return parse_period(assignment.text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool fits(const Period& warmup, const Period& steps) {
  if (warmup.unit == steps.unit) return warmup.amount <= steps.amount;
  return warmup.unit != Period::Unit::minutes && steps.unit != Period::Unit::minutes;
}

}  // namespace

std::string shorten_warmup(std::vector<Assignment>& assignments) {
  const Assignment* const last_steps = last_of(assignments, "training.steps");
  const Assignment* const last_warmup = last_of(assignments, "training.warmup");
  if (last_steps == nullptr || last_warmup == nullptr) return "";
  if (!is_flag(*last_steps) || is_flag(*last_warmup)) return "";
  const std::optional<Period> steps = period_of(*last_steps), warmup = period_of(*last_warmup);
  if (!steps || !warmup || steps->is_zero() || warmup->is_zero()) return "";
  if (fits(*warmup, *steps)) return "";
  Period shorter{steps->amount / 10, steps->unit};
  if (shorter.unit == Period::Unit::steps || shorter.unit == Period::Unit::tokens) {
    shorter.amount = std::ceil(shorter.amount);
  }
  const std::string text = to_string(shorter);
  std::string notice =
      fmt::format("training.warmup is {}, a tenth of --training.steps {}: {} ({}) does not fit",
                  text, last_steps->text, last_warmup->text, last_warmup->where);
  assignments.push_back(
      {.key = "training.warmup", .text = text, .where = last_steps->where, .folder = {}});
  return notice;
}

std::vector<Override> smoke_flags(const Settings& settings) {
  std::vector<Override> flags{{"run", settings.run + "-smoke"},
                              {"training.log_every", "1"},
                              {"training.validate_every", "0"},
                              {"training.save_every", "0"},
                              {"training.patience", "0"}};
  if (settings.stages.empty()) {
    flags.push_back({"training.steps", std::to_string(kSmokeSteps)});
  } else {
    std::vector<StageSettings> stages = settings.stages;
    for (StageSettings& stage : stages) {
      stage.steps = std::min(stage.steps, kSmokeSteps);
      stage.warmup = std::min(stage.warmup, stage.steps);
    }
    flags.push_back({"stages", print_stages(stages)});
  }
  if (!settings.training.warmup.is_zero()) flags.push_back({"training.warmup", "1"});
  const TaskFacts& facts = task_facts(settings.task);
  constexpr std::int64_t kRows = 8;
  const auto at_most = [&](const char* key, std::int64_t now, std::int64_t most) {
    if (now == 0 || now > most) flags.push_back({key, std::to_string(most)});
  };
  if (facts.data == TaskData::prepared_text) {
    at_most("data.validation_tokens", settings.data.validation_tokens,
            kRows * settings.data.length);
  }
  if (facts.translates) at_most("decoding.sentences", settings.decoding.sentences, kRows);
  if (facts.data == TaskData::generated) {
    at_most("probe.examples", settings.probe.examples, kRows);
  }
  return flags;
}

}  // namespace roformer
