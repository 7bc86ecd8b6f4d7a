#include "runs/resume.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/load.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "runs/resume_rules.h"
#include "training/checkpoint.h"
#include "training/schedule.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string with_spaces(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// The run.json of a run; null if the run was stopped before it was written.
nlohmann::json read_record(const fs::path& run) {
  const fs::path file = run / "run.json";
  std::error_code error;
  if (!fs::exists(file, error)) return nullptr;
  if (fs::file_size(file, error) == 0) {  // the machine lost power while writing
    log::warn("{} is empty: it is written again, without comparing what the run was started with",
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
              fmt::format("{} {} is not what the run was started with: {} {} now, {} then", of,
                          i + 1, words, text(now), text(then)),
              "what they were then, or another run with --run NAME");
}

void compare_data(const nlohmann::json& begun, const nlohmann::json& data,
                  const Settings& settings) {
  for (const auto& [field, now] : data.items()) {
    const AtResume rule = resume_rule_of("run.json: data." + field).rule;
    if (rule == AtResume::may_change || !begun.is_object() || !begun.contains(field) ||
        begun[field] == now) {
      continue;
    }
    // `data` has the field only before the first checkpoint
    if (rule == AtResume::until_checkpoint) {
      throw_usage("model.from",
                  fmt::format("{} holds other weights than when the run was started",
                              settings.model.from.string()),
                  "start another run with --run NAME, or --overwrite this one");
    }
    if (now.is_array() && begun[field].is_array()) refuse_other_list(field, now, begun[field]);
    throw_usage(
        std::string(data_key(settings)),
        fmt::format("{} does not hold the data that the run was started with: {} {} now, {} then",
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
    log::warn("the run was started in {} and continues in {}", begun.get<std::string>(),
              to_word(plan.precision));
    return;
  }
  throw_usage("training.precision",
              fmt::format("the run was started in {}, here it would continue in {} ({})",
                          begun.get<std::string>(), to_word(plan.precision), plan.reason),
              "resume it on the kind of device it was started on, or give --training.precision");
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

// Whether the run has passed the step at which its rate decays under these settings.
bool has_decayed(const TrainingSettings& settings, const Consumed& consumed) {
  const auto steps = static_cast<double>(consumed.steps);
  const BatchMeasure measure{.batches_per_epoch = steps / consumed.epochs,
                             .tokens_per_batch = static_cast<double>(consumed.tokens) / steps};
  const double start = make_schedule(settings, measure).decay_start();
  return consumed.steps > 0 && consumed.in(settings.steps.unit) > start;
}

// A checkpoint before the decay of wsd serves trainings of any length; later ones only the length
// for which the decay was begun.
void refuse_other_decay(const TrainingSettings& stored, const TrainingSettings& wanted,
                        const Consumed& consumed) {
  if (wanted.schedule != ScheduleKind::wsd) return;
  const auto refuse = [&](const TrainingSettings& settings, const char* whose) {
    if (!has_decayed(settings, consumed)) return;
    throw_usage("training.steps",
                fmt::format("the run has reached step {}, where the decay of the {} training ({}) "
                            "has begun; another length needs a checkpoint before it",
                            format_count(consumed.steps), whose, to_string(settings.steps)),
                "a copy of the run without its later checkpoints, or a decay that begins later");
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
  const bool same_decay = stored.decay == wanted.decay && stored.decay_ratio == wanted.decay_ratio;
  if (stored.steps == wanted.steps && same_decay) return;
  Consumed consumed;
  try {
    const fs::path last = list_checkpoints(folder / "checkpoints").back();
    consumed = read_training_state(last).consumed;
  } catch (const Error&) {
    return;  // loading the checkpoint sets it aside or refuses it
  }
  refuse_shorter(wanted, consumed);
  refuse_other_decay(stored, wanted, consumed);
}

}  // namespace

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

}  // namespace roformer
