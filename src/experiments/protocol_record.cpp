#include "experiments/protocol_record.h"

#include <fmt/format.h>
#include <algorithm>

#include "base/error.h"
#include "base/few_of.h"
#include "base/json.h"
#include "base/log.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/record.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

TaskKind task_of(const std::string& word, const std::string& file) {
  const TaskFacts* const task = find_task(word);
  if (task == nullptr) throw_failure(file, "is of the task \"" + word + "\", not known here");
  return task->task;
}

// Reads the result of a run without its values.
RunResult read_result(const json& run, const json& makings) {
  RunResult figures{.name = run.at("name").get<std::string>()};
  const auto state = run.at("state").get<std::string>();
  using State = RunResult::State;
  for (const State one : {State::finished, State::failed, State::diverged, State::refused}) {
    if (state == state_word(one)) figures.state = one;
  }
  for (const auto& [name, value] : run.at("figures").items()) {
    if (!value.is_null()) figures.figures[name] = value.get<double>();  // null: was not finite
  }
  if (run.contains("remark")) figures.remark = run["remark"].get<std::string>();
  if (run.contains("making")) {
    figures.record = makings.at(static_cast<std::size_t>(json_integer(run["making"])));
  }
  return figures;
}

ProtocolRecord::Run read_run(const json& run, const json& makings, TaskKind task) {
  ProtocolRecord::Run result{.result = read_result(run, makings)};
  RunResult& figures = result.result;
  figures.values = run.at("values").get<std::vector<std::string>>();
  result.settings = {.name = figures.name, .values = figures.values, .settings = {}};
  result.settings.chosen = run.at("chosen").get<std::vector<std::string>>();
  result.settings.settings.position.scheme = run.at("scheme").get<std::string>();
  result.settings.settings.task = task;
  if (!run.at("seed").is_number_unsigned()) throw_failure("", "has a seed that is no integer");
  result.settings.settings.seed = run["seed"].get<std::uint64_t>();
  result.options = run.at("options").get<KeyTexts>();
  result.family = run.at("family").get<std::string>();
  return result;
}

}  // namespace

ordered_json protocol_json(const StudySettings& study) {
  ordered_json axes = ordered_json::array();
  for (const StudyAxis& axis : study.axes) {
    axes.push_back({{"key", axis.key}, {"values", axis.values}});
  }
  const Settings& settings = study.runs.front().settings;
  ordered_json protocol = {
      {"version", study.version},
      {"task", to_word(settings.task)},
      {"reference", study.reference},
      {"columns", study.columns},
      {"length", settings.data.length},
      {"lengths",
       study.evaluations.of_test() ? study.evaluations.lengths : std::vector<std::int64_t>()},
      {"axes", std::move(axes)},
      {"tuned", study.tuning ? study.tuning->keys : std::vector<std::string>()},
      {"recipe", recipe_of(study)}};
  if (!study.primary.rows.empty()) {
    protocol["primary"] = {{"rows", study.primary.rows}, {"metrics", study.primary.metrics}};
  }
  return protocol;
}

ordered_json protocol_run_json(const StudyRun& run) {
  const std::string& scheme = run.settings.position.scheme;
  const PositionFacts* const facts = find_position_facts(scheme);
  return {{"values", run.values},
          {"scheme", scheme},
          {"family", facts == nullptr ? std::string() : std::string(facts->family)},
          {"options", options_of(run.settings)},
          {"chosen", run.chosen}};
}

bool is_protocol_record(const json& document) {
  return document.contains("protocol");
}

ProtocolRecord read_protocol_record(const json& document, const std::filesystem::path& file) {
  ProtocolRecord record{.file = file.string()};
  if (!is_protocol_record(document)) {
    throw_failure(record.file, "is the record of a study without study.version",
                  "only those of a protocol say how their runs compare");
  }
  try {
    const json& protocol = document.at("protocol");
    record.protocol = std::filesystem::path(document.at("file").get<std::string>()).stem().string();
    record.command = document.at("command").get<std::string>();
    record.task = protocol.at("task").get<std::string>();
    const TaskKind task = task_of(record.task, record.file);
    StudySettings& study = record.study;
    study.name = document.at("study").get<std::string>();
    study.metric = document.at("metric").get<std::string>();
    study.version = json_integer(protocol.at("version"), record.file);
    study.reference = protocol.at("reference").get<std::string>();
    if (protocol.contains("primary")) {  // older records have none
      const json& primary = protocol["primary"];
      study.primary = {.rows = primary.at("rows").get<std::vector<std::string>>(),
                       .metrics = primary.at("metrics").get<std::vector<std::string>>()};
    }
    study.columns = protocol.at("columns").get<std::vector<std::string>>();
    for (const json& axis : protocol.at("axes")) {
      study.axes.push_back({.key = axis.at("key").get<std::string>(),
                            .values = axis.at("values").get<std::vector<std::string>>()});
    }
    const auto tuned = protocol.at("tuned").get<std::vector<std::string>>();
    if (!tuned.empty()) study.tuning = StudyTuning{.keys = tuned};
    record.length = json_integer(protocol.at("length"), record.file);
    for (const json& length : protocol.at("lengths")) {
      record.lengths.push_back(json_integer(length, record.file));
    }
    record.recipe = protocol.at("recipe").get<KeyTexts>();
    for (const json& run : document.at("runs")) {
      ProtocolRecord::Run& one =
          record.runs.emplace_back(read_run(run, document.at("makings"), task));
      one.settings.settings.data.length = record.length;
      if (one.settings.values.size() == study.axes.size()) continue;
      throw_failure(file.string(),
                    "the run " + one.settings.name + " has other axes than its study");
    }
    if (document.contains("tuning")) {
      const json& tuning = document["tuning"];
      for (const json& trial : tuning.at("runs")) {
        record.trials.push_back(read_result(trial, tuning.at("makings")));
      }
    }
  } catch (const json::exception& problem) {
    throw_failure(file.string(),
                  fmt::format("is no record of a protocol that was stored: {}", problem.what()));
  }
  return record;
}

namespace {

// Why the record's rows do not fit the study; "" if they fit.
std::string reason_against(const ProtocolRecord& record, const StudySettings& study) {
  if (record.study.version != study.version) {
    return fmt::format("protocol version {}, here {}", record.study.version, study.version);
  }
  return key_differences(record.recipe, recipe_of(study));
}

// The differences between the scheme's options and those that the record has for the rows of its
// table. A trial belongs to the row with its values.
std::string option_differences(const ProtocolRecord& record, const StudySettings& study,
                               const StudyRun& trial) {
  const std::size_t told = study.tuning->per.size();
  const auto same_row = [&](const ProtocolRecord::Run& run) {
    std::vector<std::string> values;
    for (std::size_t axis = 0; axis < record.study.axes.size(); ++axis) {
      if (std::ranges::count(study.tuning->per, record.study.axes[axis].key) == 0) continue;
      values.push_back(run.settings.values[axis]);
    }
    return std::ranges::equal(
        values, std::vector(trial.values.begin(),
                            trial.values.begin() + static_cast<std::ptrdiff_t>(told)));
  };
  const auto row = std::ranges::find_if(record.runs, same_row);
  if (row == record.runs.end()) return trial.name + " without a row";
  return key_differences(row->options, options_of(trial.settings));
}

}  // namespace

RecordedTrials recorded_trials(const StudySettings& study) {
  RecordedTrials taken;
  if (!study.tuning || study.tuning->record.empty()) return taken;
  const std::filesystem::path& file = study.tuning->record;
  const ProtocolRecord record = read_protocol_record(read_record(file), file);
  std::vector<std::string> left;
  if (const std::string reason = reason_against(record, study); !reason.empty()) {
    log::info("{}: its trials are not taken: {}", file.string(), reason);
    return taken;
  }
  using State = RunResult::State;
  for (const StudyRun& trial : study.tuning->study->runs) {
    const auto found = std::ranges::find(record.trials, trial.name, &RunResult::name);
    if (found == record.trials.end()) continue;
    if (found->state != State::finished && found->state != State::diverged) continue;
    std::string reason = option_differences(record, study, trial);
    if (reason.empty()) {
      reason = data_differences_text(recorded_data(found->record), data_today(trial.settings));
    }
    if (reason.empty() && trial.settings.training.attention_gradient == AttentionGradient::exact &&
        attention_gradient_of(found->record) == to_word(AttentionGradient::fast)) {
      reason = "gradient of attention fast, here exact";
    }
    if (!reason.empty()) {
      if (trial.asked) left.push_back(trial.name + " (" + reason + ")");
      continue;
    }
    RunResult& result = taken[trial.name] = *found;
    result.values = trial.values;
  }
  if (!left.empty()) log::info("{}: trials that are not taken: {}", file.string(), few_of(left, 2));
  return taken;
}

}  // namespace roformer
