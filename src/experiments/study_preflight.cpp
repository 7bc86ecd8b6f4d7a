#include "experiments/study_preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/few_of.h"
#include "data/data_location.h"
#include "experiments/protocol_record.h"
#include "experiments/record.h"
#include "experiments/study_rows.h"
#include "experiments/training_run.h"
#include "training/run_directory.h"

namespace roformer {
namespace {

// `stays`: whether the new record will hold a run of the old one.
void refuse_lost_runs(const std::string& record, const StudySettings& study, ErrorKind kind,
                      const std::function<bool(const RunResult&)>& stays) {
  std::error_code error;
  if (study.version == 0 || !std::filesystem::is_regular_file(record, error)) return;
  const nlohmann::json document = read_record(record);
  if (!is_protocol_record(document)) return;
  std::vector<std::string> lost;
  for (const ProtocolRecord::Run& run : read_protocol_record(document, record).runs) {
    if (!stays(run.result)) lost.push_back(run.result.name);
  }
  if (lost.empty()) return;
  throw Error(
      {.kind = kind,
       .message = "holds runs that this command has not, and would lose them: " + few_of(lost),
       .location = record,
       .hint = "name another file: `roformer study --merge` puts both into one table"});
}

}  // namespace

MissingData missing_data(const StudySettings& study) {
  using State = TrainingRunStatus::State;
  MissingData missing;
  std::size_t waiting = 0, without = 0;
  for (const StudyRun& run : study.runs) {
    const State state = training_status(run).state;
    if (!run.asked || state == State::finished || state == State::refused) continue;
    ++waiting;
    const std::string problem = data_problem(run.settings);
    if (problem.empty()) continue;
    ++without;
    missing.problems.insert(problem);
  }
  missing.of_all = waiting > 0 && without == waiting;
  return missing;
}

void require_measured_set(const StudySettings& study) {
  const StudyEvaluations& evaluations = study.evaluations;
  if (!evaluations.of_test() && !evaluations.decodes()) return;
  for (const StudyRun& run : study.runs) {
    if (!run.asked || !run.refusals.empty()) continue;
    const std::string problem = split_problem(run.settings, measured_split(evaluations.split));
    if (problem.empty()) continue;
    throw_usage("evaluate.split", problem,
                fmt::format("prepare it with --{0} or --{0}-fraction, or name another set",
                            evaluations.split));
  }
}

void refuse_to_lose_runs(const std::string& record, const StudySettings& asked) {
  refuse_lost_runs(record, asked, ErrorKind::usage, [&](const RunResult& run) {
    const auto own = std::ranges::find(asked.runs, run.name, &StudyRun::name);
    return own != asked.runs.end() && (own->asked || is_run(run_folder(*own)));
  });
}

void refuse_to_lose_runs(const std::string& record, const StudyOutcome& outcome) {
  refuse_lost_runs(record, outcome.study, ErrorKind::failure, [&](const RunResult& run) {
    for (const StudyRow& row : outcome.rows) {
      const auto own = std::ranges::find(row.runs, run.name, &RunResult::name);
      if (own != row.runs.end()) return machine_of(run).empty() || same_machine(*own, run);
    }
    return false;
  });
}

}  // namespace roformer
