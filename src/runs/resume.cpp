#include "runs/resume.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/launch.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/problems.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "training/batch_part.h"
#include "training/checkpoint.h"
#include "training/schedule.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// may_change_when_resumed and compare_data decide by these rules. Rules that depend on values have
// their own functions: require_reachable checks may_grow and before_decline, compare_precision
// if_asked, and micro_batches_of_step if_divisible.
enum class AtResume {
  may_change,
  must_stay,
  by_schema,  // the column `decides` of the schema decides about a key (config/schema.h)
  // allowed unless the translation key defines the ranking of checkpoints by BLEU or chrF
  unless_ranking,
  may_grow,
  before_decline,
  until_checkpoint,
  if_asked,
  if_divisible,
};

struct ResumeRule {
  std::string_view subject;  // a key, or "run.json: FIELD"; a * at the end matches any rest
  AtResume rule;
  std::string_view words;  // for the message and for src/runs/README.md
};

// The first row that matches counts.
constexpr std::array<ResumeRule, 12> kRules{{
    {"training.steps", AtResume::may_grow,
     "may change, but not below what the run has reached; with wsd only before the decline"},
    {"training.decay*", AtResume::before_decline, "may change before the decline has begun"},
    {"decoding.batch_tokens", AtResume::may_change, "may change"},
    {"decoding.alignment_layer", AtResume::may_change, "may change"},
    {"decoding.*", AtResume::unless_ranking,
     "may change, unless BLEU or chrF of the validations ranks the checkpoints"},
    {"run.json: data.folder", AtResume::may_change, "may change: data may be moved"},
    {"run.json: data.name", AtResume::may_change, "may change"},
    {"run.json: data.from_fingerprint", AtResume::until_checkpoint,
     "the weights of `model.from` must stay until the run has a checkpoint"},
    {"run.json: data.*", AtResume::must_stay, "must stay: fingerprints of data and tokenizers"},
    {"run.json: precision", AtResume::if_asked,
     "must stay, unless `--training.precision` asks for another"},
    {"run.json: processes", AtResume::if_divisible,
     "may change to a number that divides the rows of a step"},
    {"*", AtResume::by_schema,
     "must stay if it decides what is trained (model, data, batches, seed), else it may change"},
}};

const ResumeRule& rule_of(std::string_view subject) {
  return *std::ranges::find_if(kRules, [&](const ResumeRule& rule) {
    if (!rule.subject.ends_with('*')) return rule.subject == subject;
    return subject.starts_with(rule.subject.substr(0, rule.subject.size() - 1));
  });
}

std::string shown(const std::string& value) {
  return value.empty() ? "empty" : value;
}

std::string with_spaces(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// Warns if the file, which only names the run, differs from the run's stored settings.
void warn_of_file(const fs::path& file, const GivenValues& given, const Settings& stored) {
  for (const std::string& name : given.keys) {
    const Key& key = *find_key(name);
    const bool idle = !key.scheme().empty() && !uses_scheme(stored.position, key.scheme());
    const std::string here = key.get(given.settings), there = key.get(stored);
    if (name == "run" || name == "runs" || idle || here == there) continue;
    log::warn("{}: {} is {} in the stored run and {} here; the stored value holds{}", file.string(),
              name, shown(there), shown(here),
              may_change_when_resumed(key, stored) ? ", --" + name + " changes it" : std::string());
  }
}

void refuse_other_task(const fs::path& file, const GivenValues& given, const Settings& stored,
                       const fs::path& run) {
  if (std::ranges::find(given.keys, "task") == given.keys.end()) return;
  if (given.settings.task == stored.task) return;
  throw_usage(file.string(),
              fmt::format("task is {} here, and {} in the stored run {}",
                          to_word(given.settings.task), to_word(stored.task), run.string()),
              "--run NAME for a run of this file, or the file that the run was made with");
}

// Reports all flags that the rules refuse.
void refuse_changes(const Settings& stored, const Settings& wanted) {
  Problems problems;
  for (const std::string& name : diff(stored, wanted)) {
    const Key& key = *find_key(name);
    if (may_change_when_resumed(key, stored)) continue;
    const ResumeRule& rule = rule_of(name);
    problems.add({.where = "--" + name,
                  .key = name,
                  .message = fmt::format("is {} in the stored run, got {}; at --resume it {}",
                                         shown(key.get(stored)), shown(key.get(wanted)),
                                         rule.rule == AtResume::by_schema
                                             ? "must stay, since it decides what is trained"
                                             : rule.words),
                  .hint = "leave it out, start another run with --run NAME, or begin again with "
                          "--overwrite"});
  }
  problems.throw_if_any();
}

// The run.json of a run; null if the run was stopped before it was written.
nlohmann::json read_record(const fs::path& run) {
  const fs::path file = run / "run.json";
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  if (fs::file_size(file, error) == 0) {  // the machine lost power while writing
    log::warn("{} is empty: it is written again, and what the run was begun with is not compared",
              file.string());
    return nullptr;
  }
  nlohmann::json record = read_checksummed_json(file);
  if (!record.is_object()) throw_failure(file.string(), "is not the record of a run");
  return record;
}

// Names the first entry of data.sources or of the stages that differs. An entry is a fingerprint
// ("… x weight") or a count of tokens.
[[noreturn]] void refuse_other_list(const std::string& field, const nlohmann::json& now,
                                    const nlohmann::json& then) {
  const std::size_t end = field.find('_');
  const std::string of = field.substr(0, end);  // "source", "stage"
  std::string words = with_spaces(field.substr(std::min(end, field.size() - 1) + 1));
  if (words.ends_with("fingerprints")) words.pop_back();
  std::size_t i = 0;
  while (i < now.size() && i < then.size() && now[i] == then[i]) ++i;
  const auto text = [&](const nlohmann::json& list) {
    if (i >= list.size()) return std::string("not there");
    return list[i].is_string() ? list[i].get<std::string>() : list[i].dump();
  };
  throw_usage(of == "source" ? "data.sources" : of + "s",
              fmt::format("{} {} is not what the run was begun with: {} {} now, {} then", of, i + 1,
                          words, text(now), text(then)),
              "what they were then, or another run with --run NAME");
}

void compare_data(const nlohmann::json& begun, const nlohmann::json& data,
                  const Settings& settings) {
  for (const auto& [field, now] : data.items()) {
    const AtResume rule = rule_of("run.json: data." + field).rule;
    if (rule == AtResume::may_change || !begun.is_object() || !begun.contains(field) ||
        begun[field] == now) {
      continue;
    }
    // `data` has the field only before the first checkpoint
    if (rule == AtResume::until_checkpoint) {
      throw_usage("model.from",
                  fmt::format("{} holds other weights than when the run was begun",
                              settings.model.from.string()),
                  "start another run with --run NAME, or --overwrite this one");
    }
    if (now.is_array() && begun[field].is_array()) refuse_other_list(field, now, begun[field]);
    throw_usage(
        std::string(data_key(settings)),
        fmt::format("{} does not hold the data that the run was begun with: {} {} now, {} then",
                    data["folder"].get<std::string>(), with_spaces(field), describe_json(now),
                    describe_json(begun[field])),
        fmt::format("name the data that were in {}, or start another run with --run NAME",
                    begun.value("folder", "data.directory then")));
  }
}

void compare_precision(const nlohmann::json& begun, const Settings& settings,
                       const ComputePlan& plan) {
  if (!begun.is_string() || begun == to_word(plan.precision)) return;
  if (settings.training.precision != Precision::automatic) {  // the user asked for it
    log::warn("the run was begun in {} and goes on in {}", begun.get<std::string>(),
              to_word(plan.precision));
    return;
  }
  throw_usage("training.precision",
              fmt::format("the run was begun in {}, here it would go on in {} ({})",
                          begun.get<std::string>(), to_word(plan.precision), plan.reason),
              "resume it on the kind of device that it was begun on, or say --training.precision");
}

// The number of processes that began an older run; 1 in the oldest records. Refuses a number that
// no launcher can start: one step would have so many micro-batches that it never ends.
std::int64_t recorded_processes(const nlohmann::json& record, const Settings& settings) {
  if (!record.contains("processes")) return 1;
  const nlohmann::json& value = record["processes"];
  if (value.is_number_integer() && value >= 1 && value <= kMostProcesses) {
    return value.get<std::int64_t>();
  }
  throw_failure((settings.runs / settings.run / "run.json").string(),
                fmt::format("the field processes is {}, not an integer from 1 to {}",
                            describe_json(value), kMostProcesses));
}

void refuse_shorter(const TrainingSettings& wanted, const Consumed& consumed) {
  const Period& steps = wanted.steps;
  if (consumed.in(steps.unit) <= steps.amount) return;
  throw_usage("training.steps",
              fmt::format("got {}, but the run has reached {} (step {})", to_string(steps),
                          to_string(Period{consumed.in(steps.unit), steps.unit}),
                          format_count(consumed.steps)),
              "a longer training, or --run NAME for another");
}

// Whether the run has passed the step at which its rate declines under these settings.
bool has_declined(const TrainingSettings& settings, const Consumed& consumed) {
  const auto steps = static_cast<double>(consumed.steps);
  const BatchMeasure measure{.batches_per_epoch = steps / consumed.epochs,
                             .tokens_per_batch = static_cast<double>(consumed.tokens) / steps};
  const double start = make_schedule(settings, measure).decline_start();
  return consumed.steps > 0 && consumed.in(settings.steps.unit) > start;
}

// A checkpoint before the decline of wsd serves trainings of any length; later ones only the length
// for which the decline was begun.
void refuse_other_decline(const TrainingSettings& stored, const TrainingSettings& wanted,
                          const Consumed& consumed) {
  if (wanted.schedule != ScheduleKind::wsd) return;
  const auto refuse = [&](const TrainingSettings& settings, const char* whose) {
    if (!has_declined(settings, consumed)) return;
    throw_usage("training.steps",
                fmt::format("the run has reached step {}, where the decline of the {} training "
                            "({}) has begun; only a checkpoint before it serves another length",
                            format_count(consumed.steps), whose, to_string(settings.steps)),
                "a copy of the run without its later checkpoints, or a decline that begins later");
  };
  refuse(stored, "stored");
  refuse(wanted, "wanted");
  if (stored.steps != wanted.steps && wanted.warmup.is_zero() && wanted.warmup_ratio > 0) {
    log::warn(
        "training.warmup_ratio was a share of {}: a new run of {} would warm up longer or "
        "shorter; training.warmup is the same for both",
        to_string(stored.steps), to_string(wanted.steps));
  }
}

// Compares the wanted length with what the run has reached.
void require_reachable(const Settings& settings, const fs::path& folder) {
  const TrainingSettings& wanted = settings.training;
  const TrainingSettings stored = load_settings(folder / "config.yaml").training;
  const bool same_decline =
      stored.decay == wanted.decay && stored.decay_ratio == wanted.decay_ratio;
  if (stored.steps == wanted.steps && same_decline) return;
  Consumed consumed;
  try {
    const fs::path last = list_checkpoints(folder / "checkpoints").back();
    consumed = read_training_state(last / "state.json").consumed;
  } catch (const Error&) {
    return;  // loading the checkpoint sets it aside or refuses it
  }
  refuse_shorter(wanted, consumed);
  refuse_other_decline(stored, wanted, consumed);
}

}  // namespace

std::string resume_rules_table() {
  std::string table = "| what | when a run is resumed |\n|---|---|\n";
  for (const ResumeRule& rule : kRules) {
    const bool all = rule.subject == "*";
    table += fmt::format("| {} | {} |\n",
                         all ? "every other key" : fmt::format("`{}`", rule.subject), rule.words);
  }
  return table;
}

bool may_change_when_resumed(const Key& key, const Settings& stored) {
  const TranslationRanking by = stored.translation.ranked_by;
  const bool ranks = rule_of(key.name).rule == AtResume::unless_ranking &&
                     task_facts(stored.task).has_decoder &&
                     (by == TranslationRanking::bleu || by == TranslationRanking::chrf);
  return key.may_change() && !ranks;
}

Settings read_run_settings(const fs::path& run_or_checkpoint) {
  const fs::path file = run_or_checkpoint / "config.yaml";
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw_failure(run_or_checkpoint.string(), "is no run and no checkpoint: it has no config.yaml",
                  "give the folder that `roformer train` made, for instance runs/quickstart");
  }
  if (fs::file_size(file, error) == 0) {
    throw_failure(file.string(), "is empty, and so damaged",
                  "`roformer train --resume --run NAME` brings it back from a checkpoint");
  }
  check_checksummed_lines(file);
  return load_settings(file);
}

Settings resumed_settings(const fs::path& file, const std::vector<Override>& flags) {
  const GivenValues given = load_values(file, flags);
  const fs::path run = given.settings.runs / given.settings.run;
  recover_run(run);
  require_run(run);
  std::vector<Override> changes;
  for (const Override& flag : flags) {  // drops `run` and `runs`: the place of the run is known
    if (flag.key != "run" && flag.key != "runs") changes.push_back(flag);
  }
  const fs::path config = run / "config.yaml";
  refuse_changes(read_run_settings(run), load_values(config, changes).settings);
  Settings settings = load_settings(config, changes);
  refuse_other_task(file, given, settings, run);
  warn_of_file(file, given, settings);
  settings.run = given.settings.run;
  settings.runs = given.settings.runs;
  return settings;
}

Continuation look_at_run(const Settings& settings, ExistingRun existing) {
  const fs::path folder = settings.runs / settings.run;
  Continuation continuation{.resumes = existing == ExistingRun::resume && is_run(folder)};
  if (!continuation.resumes) return continuation;
  continuation.has_checkpoints = !list_checkpoints(folder / "checkpoints").empty();
  continuation.record = read_record(folder);
  if (continuation.is_recorded() && continuation.record.contains("/data/average_of"_json_pointer)) {
    throw_usage(
        folder.string(), "is an average of checkpoints, which cannot be trained further",
        "--resume the run that they are of, or start from it: --model.from " + folder.string());
  }
  if (task_facts(settings.task).data != TaskData::generated && !is_present(data_path(settings))) {
    throw_failure(data_path(settings).string(), "the data of the run are not there",
                  fmt::format("say where they are: --{} PATH", data_key(settings)));
  }
  if (continuation.has_checkpoints) require_reachable(settings, folder);
  return continuation;
}

void require_same(const Continuation& continuation, const nlohmann::json& data,
                  const Settings& settings, const ComputePlan& plan) {
  if (!continuation.is_recorded()) return;
  const nlohmann::json& record = continuation.record;
  compare_data(record.value("data", nlohmann::json::object()), data, settings);
  compare_precision(record.value("precision", nlohmann::json()), settings, plan);
}

namespace {

// The rows of a step, or of a step of one stage.
struct StepRows {
  std::string_view key;    // for the message
  std::string of;          // "a step", "a step of stage 2"
  std::int64_t batch = 0;  // 0: micro-batches are filled by tokens
  std::int64_t micro_batches = 0;
};

void refuse_uneven(const StepRows& step, const TrainingSettings& training,
                   const Processes& processes, bool resumes) {
  const std::int64_t parts =
      share_of_step(step.micro_batches, processes.rank(), processes.count()).parts;
  if (parts == 1) return;
  const std::int64_t batch = step.batch, rows = batch * step.micro_batches;
  if (training.reduce == GradientReduction::deterministic) {
    throw_usage("training.reduce",
                fmt::format("deterministic shares whole micro-batches: {} has {}, which {} "
                            "processes cannot share evenly",
                            step.of, step.micro_batches, processes.count()),
                resumes || batch == 0 || batch % parts != 0
                    ? "fast shares their rows, too"
                    : fmt::format("batch {} x accumulation {} has as many rows; fast shares "
                                  "rows, too",
                                  batch / parts, step.micro_batches * parts));
  }
  if (batch % parts == 0) return;
  const std::int64_t below = batch / parts * parts, above = below + parts;
  const std::int64_t nearest = below > 0 && batch - below < above - batch ? below : above;
  throw_usage(std::string(step.key),
              fmt::format("{} has {} rows (batch {} x accumulation {}), which {} processes cannot "
                          "share evenly",
                          step.of, rows, batch, step.micro_batches, processes.count()),
              resumes ? fmt::format("go on with a number of processes that divides {}", rows)
                      : fmt::format("batch {} is the nearest that they can", nearest));
}

}  // namespace

std::int64_t micro_batches_of_step(const Continuation& continuation, const Settings& settings,
                                   const Processes& processes) {
  const nlohmann::json& record = continuation.record;
  const bool of_each = continuation.is_recorded() && record.value(kBatchOf, "") != kBatchOfStep;
  const std::int64_t begun_by = of_each ? recorded_processes(record, settings) : 1;
  const TrainingSettings& training = settings.training;
  const auto rows = [&](const std::optional<std::int64_t>& batch) {
    return training.batch_tokens > 0 ? 0 : batch.value_or(training.batch);
  };
  const std::int64_t all = training.accumulation * begun_by;
  if (settings.stages.empty()) {
    refuse_uneven(
        {.key = "training.batch", .of = "a step", .batch = rows({}), .micro_batches = all},
        training, processes, continuation.is_recorded());
  }
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    const StageSettings& stage = settings.stages[i];
    refuse_uneven({.key = "stages",
                   .of = fmt::format("a step of stage {}", i + 1),
                   .batch = rows(stage.batch),
                   .micro_batches = stage.accumulation.value_or(training.accumulation) * begun_by},
                  training, processes, continuation.is_recorded());
  }
  return all;
}

}  // namespace roformer
