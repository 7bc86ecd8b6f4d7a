#include "study/length_evaluations.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/random.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "study/job_runner.h"
#include "study/training_run.h"
#include "tasks/evaluation_report.h"
#include "tasks/trained_model.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// One evaluation and where its figures go.
struct Evaluation {
  std::size_t row = 0, cell = 0;  // in the result
  std::string name;               // "rope-yarn-256"
  std::vector<std::string> arguments;
  fs::path file;
};

const StudyRun& run_named(const StudySettings& study, const std::string& name) {
  return *std::find_if(study.runs.begin(), study.runs.end(),
                       [&](const StudyRun& run) { return run.name == name; });
}

std::vector<Override> overrides_at(const StudyVariant& variant, const Settings& trained,
                                   std::int64_t length) {
  std::vector<Override> result = variant.overrides;
  if (!variant.stretch.empty()) {
    const double stretch =
        std::max(1.0, static_cast<double>(length) / static_cast<double>(trained.data.length));
    result.push_back({.key = variant.stretch, .text = fmt::format("{}", stretch)});
  }
  return result;
}

// Why a trained model cannot be evaluated so; "" where it can.
std::string refusal(const Settings& trained, const std::vector<Override>& overrides,
                    std::int64_t length) {
  try {
    std::vector<Override> all;
    for (const Key& key : schema()) {
      const bool place = key.type == KeyType::path || key.type == KeyType::text;  // of no weight
      if (!place) all.push_back({.key = key.name, .text = key.get(trained)});
    }
    const std::vector<Override> changes = with_shared_options(trained, overrides);
    all.insert(all.end(), changes.begin(), changes.end());
    require_places(default_settings(all), "", length);
    return "";
  } catch (const Error& error) {
    return error.parts().message;
  }
}

// The state of the checkpoint tells one training from another.
std::string file_name(const std::string& name, const fs::path& checkpoint,
                      const std::vector<std::string>& arguments) {
  std::string key = read_file(checkpoint / "state.json") + read_file(checkpoint / "config.yaml");
  for (std::size_t i = 2; i < arguments.size(); ++i) key += " " + arguments[i];
  return fmt::format("{}-{:016x}.json", name, random_word(key));
}

class Plan {
 public:
  Plan(const StudySettings& study, const std::vector<StudyRow>& rows)
      : study_(study), folder_(study.folder / "evaluations") {
    for (const StudyRow& row : rows) add(row, nullptr);
    for (const StudyVariant& variant : study.evaluations.variants) {
      for (const StudyRow& row : rows) {
        const Settings& settings = run_named(study, row.runs.front().name).settings;
        const bool meant = variant.scheme.empty() || variant.scheme == settings.position.scheme;
        if (meant) add(row, &variant);
      }
    }
  }

  const fs::path& folder() const { return folder_; }

  std::vector<LengthRow> rows;
  std::vector<Evaluation> evaluations;

 private:
  const StudySettings& study_;
  fs::path folder_;

  void add(const StudyRow& row, const StudyVariant* variant) {
    const Settings& settings = run_named(study_, row.runs.front().name).settings;
    const std::string added = variant == nullptr ? "" : variant->name;
    LengthRow result{.title = row.title() + (added.empty() ? "" : ", " + added),
                     .scheme = settings.position.scheme,
                     .variant = added};
    for (const std::int64_t length : study_.evaluations.lengths) {
      LengthCell cell{.length = length};
      if (!row.finished()) {
        cell.reason = row.reasons();
      } else {
        const auto overrides =
            variant == nullptr ? std::vector<Override>{} : overrides_at(*variant, settings, length);
        cell.reason = refusal(settings, overrides, length);
        if (cell.reason.empty()) {
          for (const RunResult& run : row.runs) {
            add_evaluation(run_named(study_, run.name), added, overrides, length,
                           result.cells.size());
          }
        }
      }
      result.cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(result));
  }

  void add_evaluation(const StudyRun& run, const std::string& variant,
                      const std::vector<Override>& overrides, std::int64_t length,
                      std::size_t cell) {
    const std::string name =
        fmt::format("{}{}{}-{}", run.name, variant.empty() ? "" : "-", variant, length);
    Evaluation evaluation{.row = rows.size(), .cell = cell, .name = name};
    evaluation.arguments = {"evaluate", run_folder(run).string(), "--length",
                            std::to_string(length)};
    for (const Override& override : overrides) {
      evaluation.arguments.push_back("--" + override.key);
      evaluation.arguments.push_back(override.text);
    }
    evaluation.file =
        folder_ / file_name(name, find_checkpoint(run_folder(run)), evaluation.arguments);
    evaluations.push_back(std::move(evaluation));
  }
};

bool is_done(const Evaluation& evaluation) {
  std::error_code error;
  return fs::exists(evaluation.file, error);
}

Job job_of(const Evaluation& evaluation, const fs::path& folder, const std::string& program) {
  std::vector<std::string> arguments = evaluation.arguments;
  arguments.insert(arguments.end(), {"--output", evaluation.file.string()});
  return {.name = evaluation.name,
          .command = {.program = program,
                      .arguments = std::move(arguments),
                      .output = folder / (evaluation.name + ".txt")},
          .progress = [] { return JobProgress{}; }};
}

}  // namespace

LengthOutcome evaluate_lengths(const StudySettings& study, const std::vector<StudyRow>& rows,
                               const LengthOptions& options) {
  Plan plan(study, rows);
  make_directories(plan.folder());
  std::vector<Job> jobs;
  std::vector<const Evaluation*> of_job;
  for (const Evaluation& evaluation : plan.evaluations) {
    if (is_done(evaluation)) continue;
    jobs.push_back(job_of(evaluation, plan.folder(), options.program));
    of_job.push_back(&evaluation);
  }
  const std::size_t before = plan.evaluations.size() - jobs.size();
  if (before > 0) {
    log::info("{}: {} of {} evaluations are there", plan.folder().string(), before,
              plan.evaluations.size());
  }
  const JobOutcomes outcomes = run_jobs(jobs, {.parallel = options.parallel, .finished = before});
  LengthOutcome result{.signal = outcomes.signal};
  if (result.signal != 0) return result;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    if (outcomes.outcomes[job].end == JobOutcome::End::good) continue;
    ++result.failed;
    plan.rows[of_job[job]->row].cells[of_job[job]->cell].reason =
        "failed: " + outcomes.outcomes[job].reason;
  }
  for (const Evaluation& evaluation : plan.evaluations) {
    LengthCell& cell = plan.rows[evaluation.row].cells[evaluation.cell];
    if (!cell.reason.empty()) continue;
    try {
      cell.runs.push_back(evaluation_of(nlohmann::json::parse(read_file(evaluation.file))));
    } catch (const nlohmann::json::exception& error) {
      throw_failure(evaluation.file.string(), std::string("no evaluation: ") + error.what(),
                    "remove it; the same command makes it again");
    }
  }
  result.rows = std::move(plan.rows);
  return result;
}

}  // namespace roformer
