#include "experiments/recorded_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/few_of.h"
#include "base/log.h"
#include "experiments/protocol_record.h"
#include "experiments/record.h"
#include "experiments/run_result.h"

namespace roformer {
namespace {

// "" where the record's rows are made as the study's.
std::string reason_against(const ProtocolRecord& record, const StudySettings& study) {
  if (record.study.version != study.version) {
    return fmt::format("protocol version {}, here {}", record.study.version, study.version);
  }
  return key_differences(record.recipe, recipe_of(study));
}

// The options of a scheme stand with the rows of the table. A trial shows its scheme, and all else
// that tells rows apart, by its values.
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
