#include "config/load.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/period.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/task_facts.h"
#include "config/yaml_file.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// Adds a problem if the file describes a study.
YamlFile read_run_file(const std::filesystem::path& file, Problems& problems) {
  YamlFile yaml = read_yaml_file(file, problems);
  put_in_place(file, yaml.assignments);
  if (!yaml.sections.empty()) {
    const auto& [name, section] = *yaml.sections.begin();
    const bool varies = yaml.sections.contains("matrix") || yaml.sections.contains("variants");
    problems.add(section.file.string() + ":" + std::to_string(section.line), name,
                 varies ? "this file describes a study, not a single run"
                        : "belongs to a study, but this file varies nothing",
                 varies ? "roformer study " + file.string()
                        : "a `matrix:` or `variants:` makes it a study; without `" + name +
                              ":` it is a single run");
  }
  return yaml;
}

// Returns nullptr if nothing sets the key.
Assignment* last_of(std::vector<Assignment>& assignments, const char* key) {
  const auto found =
      std::ranges::find(assignments.rbegin(), assignments.rend(), key, &Assignment::key);
  return found == assignments.rend() ? nullptr : &*found;
}

// The schema's key that an assignment sets under these settings; nullptr for none.
const Key* key_of(const Assignment& assignment, const Settings& settings) {
  const std::string& name = assignment.key;
  constexpr std::string_view kPosition = "position";
  if (name == kPosition) return find_key("position.scheme");
  if (const Key* const key = find_key(name); key || !name.starts_with("position.")) return key;
  return find_key("position." + settings.position.scheme + name.substr(kPosition.size()));
}

// The task that the last assignment to `task` names, or the default.
TaskKind task_of(const std::vector<Assignment>& assignments) {
  Settings settings;
  for (const Assignment& assignment : assignments) {
    if (assignment.key != "task") continue;
    try {
      find_key("task")->set(settings, assignment.text, assignment.folder);
    } catch (const InvalidValue&) {
      continue;  // applying the assignments reports it
    }
  }
  return settings.task;
}

}  // namespace

void add_source_keys(std::vector<Assignment>& assignments, const SourceKeys& source_keys) {
  const Assignment* const from = last_of(assignments, "model.from");
  if (!source_keys || from == nullptr || from->text.empty()) return;
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

// A key that has no effect beside another key.
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
    "is for FAVOR+'s random features, which this kernel does not have";
constexpr const char* kFavor = "--attention.kernel favor, or leave it out";

const std::array kIdleKeys{
    IdleKey{"training.batch",
            [](const Settings& settings) { return settings.training.batch_tokens > 0; },
            "has no effect while training.batch_tokens sets the batch size",
            "--training.batch_tokens N, or 0 to use --training.batch"},
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

bool is_flag(const Assignment& assignment) {
  return assignment.where == "--" + assignment.key;
}

// Returns nothing for a text that is no period; applying the assignments reports it.
std::optional<Period> period_of(const Assignment& assignment) {
  try {
    return parse_period(assignment.text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool fits(const Period& part, const Period& steps) {
  if (part.unit == steps.unit) return part.amount <= steps.amount;
  return part.unit != Period::Unit::minutes && steps.unit != Period::Unit::minutes;
}

// `key`: a part of the training, such as its warm-up.
std::string shorten(const char* key, std::vector<Assignment>& assignments) {
  const Assignment* const last_steps = last_of(assignments, "training.steps");
  const Assignment* const last_part = last_of(assignments, key);
  if (last_steps == nullptr || last_part == nullptr) return "";
  if (!is_flag(*last_steps) || is_flag(*last_part)) return "";
  const std::optional<Period> steps = period_of(*last_steps), part = period_of(*last_part);
  if (!steps || !part || steps->is_zero() || part->is_zero()) return "";
  if (fits(*part, *steps)) return "";
  Period shorter{steps->amount / 10, steps->unit};
  if (shorter.unit == Period::Unit::steps || shorter.unit == Period::Unit::tokens) {
    shorter.amount = std::ceil(shorter.amount);
  }
  const std::string text = to_string(shorter);
  std::string notice = fmt::format("{} is {}, a tenth of --training.steps {}: {} ({}) does not fit",
                                   key, text, last_steps->text, last_part->text, last_part->where);
  assignments.push_back({.key = key, .text = text, .where = last_steps->where, .folder = {}});
  return notice;
}

}  // namespace

std::string shorten_warmup(std::vector<Assignment>& assignments) {
  const std::string warmup = shorten("training.warmup", assignments),
                    decay = shorten("training.decay", assignments);
  return warmup + (warmup.empty() || decay.empty() ? "" : "; ") + decay;
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
  for (const auto& [key, part] : {std::pair{"training.warmup", settings.training.warmup},
                                  {"training.decay", settings.training.decay}}) {
    if (!part.is_zero()) flags.push_back({key, "1"});
  }
  const TaskFacts& facts = task_facts(settings.task);
  constexpr std::int64_t kRows = 8;
  const auto at_most = [&](const char* key, std::int64_t now, std::int64_t most) {
    if (now == 0 || now > most) flags.push_back({key, std::to_string(most)});
  };
  if (facts.data == TaskData::prepared_text) {
    at_most("data.validation_tokens", settings.data.validation_tokens,
            kRows * settings.data.length);
  }
  if (facts.has_decoder) at_most("decoding.sentences", settings.decoding.sentences, kRows);
  if (find_key("probe.examples")->applies_to(settings.task)) {
    at_most("probe.examples", settings.probe.examples, kRows);
  }
  return flags;
}

namespace {

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The folder of the run that stored the file; nothing for any other file.
std::optional<fs::path> run_of(const fs::path& file) {
  if (file.filename() != "config.yaml") return std::nullopt;
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  if (folder.parent_path().filename() == "checkpoints") return folder.parent_path().parent_path();
  const bool stored = is_there(folder / "run.json") || is_there(folder / "checkpoints") ||
                      begins_with_seal(read_file(file, kLargestDescription));
  return stored ? std::optional(folder) : std::nullopt;
}

// Maps the old places of a run and of the project around it to their new places. The run's folder
// may have been renamed, too.
class Move {
 public:
  Move(const fs::path& from, const fs::path& to)
      : run_from_(from), run_to_(to), from_(from.parent_path()), to_(to.parent_path()) {
    while (from_.has_relative_path() && to_.has_relative_path() &&
           from_.filename() == to_.filename()) {
      from_ = from_.parent_path();
      to_ = to_.parent_path();
    }
  }

  fs::path of(const fs::path& path) const {
    if (!path.is_absolute()) return path;
    for (const auto& [from, to] : {std::pair(run_from_, run_to_), std::pair(from_, to_)}) {
      const fs::path inside = path.lexically_relative(from);
      if (inside.empty() || *inside.begin() == "..") continue;
      fs::path moved = (to / inside).lexically_normal();
      if (is_there(moved)) return moved;
    }
    return path;
  }

 private:
  fs::path run_from_, run_to_;
  fs::path from_, to_;  // the projects: the folders around the runs without their equal endings
};

void move_paths(const Move& move, Assignment& assignment) {
  const Key* const key = find_key(assignment.key);
  if (key == nullptr || assignment.text.empty()) return;
  if (key->type == KeyType::path) {
    assignment.text = move.of(assignment.text).string();
    return;
  }
  try {
    if (key->name == "stages") {
      std::vector<StageSettings> stages = parse_stages(assignment.text, assignment.folder);
      for (StageSettings& stage : stages) {
        if (!stage.directory.empty()) stage.directory = move.of(stage.directory);
      }
      assignment.text = print_stages(stages);
    } else if (key->name == "data.sources") {
      std::vector<DataSource> sources = parse_sources(assignment.text, assignment.folder);
      for (DataSource& source : sources) source.directory = move.of(source.directory);
      assignment.text = print_sources(sources);
    }
  } catch (const InvalidValue&) {
    // Applying the assignment reports it.
  }
}

}  // namespace

void put_in_place(const fs::path& file, std::vector<Assignment>& assignments) {
  Assignment* const runs = last_of(assignments, "runs");
  Assignment* const run = last_of(assignments, "run");
  if (runs == nullptr || run == nullptr || run->text.empty()) return;
  const fs::path made = fs::path(runs->text) / run->text;
  const std::optional<fs::path> found = run_of(file);
  std::error_code error;
  if (!found || !made.is_absolute() || fs::equivalent(made, *found, error)) return;
  const Move move(made.lexically_normal(), *found);
  for (Assignment& assignment : assignments) {
    if (&assignment != runs && &assignment != run) move_paths(move, assignment);
  }
  runs->text = found->parent_path().string();
  run->text = found->filename().string();
}

}  // namespace roformer
