#include "experiments/length_evaluations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/inner_path.h"
#include "base/log.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/evaluated_weights.h"
#include "experiments/run_facts.h"
#include "experiments/study_table.h"
#include "experiments/training_run.h"
#include "tasks/language/evaluation_report.h"
#include "runs/shared_options.h"
#include "runs/trained_model.h"
#include "tasks/untrained.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// One evaluation and where its figures go.
struct Evaluation {
  std::size_t row = 0, cell = 0;  // in the result
  std::string run;                // "rope-seed1"
  std::string name;               // "rope-seed1-yarn-256"
  std::vector<std::string> arguments;
  fs::path file;
};

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

bool is_meant(const StudyVariant& variant, const Settings& trained) {
  return variant.scheme.empty() || variant.scheme == trained.position.scheme;
}

// A trained model's settings as it would be evaluated.
Settings changed_settings(const Settings& trained, const std::vector<Override>& overrides) {
  std::vector<Override> all;
  for (const Key& key : schema()) {
    const bool text = key.type == KeyType::path || key.type == KeyType::text;
    const bool location = text && key.scheme().empty();  // of no weight
    if (!location) all.push_back({.key = key.name, .text = key.get(trained)});
  }
  const std::vector<Override> changes = with_shared_options(trained, overrides);
  all.insert(all.end(), changes.begin(), changes.end());
  return default_settings(all);
}

// Why a trained model cannot be evaluated so; "" where it can.
std::string refusal(const Settings& trained, const std::vector<Override>& overrides,
                    std::int64_t length) {
  try {
    require_positions(changed_settings(trained, overrides), "", length);
    return "";
  } catch (const Error& error) {  // in a cell of a table, on one line
    std::string reason = error.parts().message;
    for (std::size_t at = 0; (at = reason.find('\n', at)) != std::string::npos; at += 2) {
      reason.replace(at, 1, "; ");
    }
    return reason;
  }
}

class Plan {
 public:
  Plan(const StudySettings& study, const std::vector<StudyRow>& rows)
      : study_(study), folder_(study.folder / "evaluations") {
    for (const StudyRow& row : rows) add(row, nullptr);
    for (const StudyVariant& variant : study.evaluations.variants) {
      for (const StudyRow& row : rows) {
        const Settings& settings = run_named(study, row.runs.front().name).settings;
        if (is_meant(variant, settings)) add(row, &variant);
      }
    }
  }

  const fs::path& folder() const { return folder_; }

  std::vector<LengthRow> rows;
  std::vector<Evaluation> evaluations;

 private:
  const StudySettings& study_;
  fs::path folder_;
  std::map<std::string, EvaluatedWeights> weights_;  // of the runs

  void add(const StudyRow& row, const StudyVariant* variant) {
    const Settings& settings = run_named(study_, row.runs.front().name).settings;
    const std::string added = variant == nullptr ? "" : variant->name;
    std::vector<const RunResult*> finished;
    for (const RunResult& run : row.runs) {
      if (run.state == RunResult::State::finished) finished.push_back(&run);
    }
    std::string title = row.title() + (added.empty() ? "" : ", " + added);
    if (finished.size() < row.runs.size() && !finished.empty()) {
      title += fmt::format(" ({} of {})", finished.size(), row.runs.size());
    }
    LengthRow result{.title = std::move(title),
                     .whole = finished.size() == row.runs.size(),
                     .scheme = settings.position.scheme,
                     .variant = added,
                     .vocabulary = question_of(study_, row)};
    for (const std::int64_t length : study_.evaluations.lengths) {
      LengthCell cell{.length = length};
      if (finished.empty()) {
        cell.reason = row.reasons();
      } else {
        const auto overrides =
            variant == nullptr ? std::vector<Override>{} : overrides_at(*variant, settings, length);
        cell.reason = refusal(settings, overrides, length);
        if (cell.reason.empty()) {
          cell.reason = add_evaluations(finished, overrides, length, result);
        }
      }
      result.cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(result));
  }

  // Read once.
  const EvaluatedWeights& weights_of_run(const std::string& name) {
    const auto known = weights_.find(name);
    if (known != weights_.end()) return known->second;
    return weights_.emplace(name, weights_of(run_named(study_, name))).first->second;
  }

  // Of the runs, for the next cell of `result`. Returns why there are none, or "".
  std::string add_evaluations(const std::vector<const RunResult*>& runs,
                              const std::vector<Override>& overrides, std::int64_t length,
                              LengthRow& result) {
    std::vector<Evaluation> planned;
    try {
      for (const RunResult* const run : runs) {
        const EvaluatedWeights& weights = weights_of_run(run->name);
        result.weights.insert(weights.which);
        planned.push_back(evaluation(*run, weights, result.variant, overrides, length));
        planned.back().cell = result.cells.size();
      }
    } catch (const Error& error) {
      return error.what();
    }
    evaluations.insert(evaluations.end(), std::make_move_iterator(planned.begin()),
                       std::make_move_iterator(planned.end()));
    return "";
  }

  Evaluation evaluation(const RunResult& result, const EvaluatedWeights& weights,
                        const std::string& variant, const std::vector<Override>& overrides,
                        std::int64_t length) const {
    const StudyRun& run = run_named(study_, result.name);
    const std::string name =
        fmt::format("{}{}{}-{}", run.name, variant.empty() ? "" : "-", variant, length);
    std::vector<std::string> how{"--length", std::to_string(length)};
    if (study_.evaluations.of_test()) how.insert(how.end(), {"--split", "test"});
    for (const Override& override : overrides) {
      how.push_back("--" + override.key);
      how.push_back(override.text);
    }
    Evaluation evaluation{.row = rows.size(), .run = run.name, .name = name};
    evaluation.file =
        folder_ / (evaluation_name(name, weights, data_fingerprint(result.record), how) + ".json");
    evaluation.arguments = {"evaluate", run_folder(run).string(), "--checkpoint", weights.which};
    // The study says where the data lie today.
    if (const fs::path& data = run.settings.data.directory; !data.empty()) {
      evaluation.arguments.insert(evaluation.arguments.end(), {"--data", data.string()});
    }
    evaluation.arguments.insert(evaluation.arguments.end(), how.begin(), how.end());
    return evaluation;
  }
};

// What an evaluation left; nothing where it is not done or its file is damaged.
std::optional<LanguageEvaluation> stored(const Evaluation& evaluation) {
  std::error_code error;
  if (!fs::exists(evaluation.file, error)) return std::nullopt;
  try {
    return evaluation_of(read_checksummed_json(evaluation.file));
  } catch (const std::exception& problem) {  // cannot be read, or is not what was written
    log::warn("{} is no evaluation: {}", evaluation.file.string(), problem.what());
    return std::nullopt;
  }
}

StoredWork work_of(const Evaluation& evaluation, const fs::path& folder,
                   const std::string& program) {
  std::vector<std::string> arguments = evaluation.arguments;
  arguments.insert(arguments.end(), {"--output", evaluation.file.string()});
  // The file's name tells run "a" with variant "b" from run "a-b".
  const std::string key = evaluation.file.stem().string();
  return {.job = {.name = evaluation.name,
                  .key = key,
                  .command = {.program = program,
                              .arguments = std::move(arguments),
                              .output = folder / (key + ".txt")},
                  .progress = [] { return JobProgress{}; }},
          .is_there = [evaluation] { return stored(evaluation).has_value(); }};
}

fs::path claims_in(const fs::path& folder) {
  return folder / "claims";
}

}  // namespace

void require_variants(const StudySettings& study) {
  for (const StudyVariant& variant : study.evaluations.variants) {
    std::optional<Error> refused;
    bool fits = false;
    for (const StudyRun& run : study.runs) {
      if (fits || !run.refusals.empty() || !is_meant(variant, run.settings)) continue;
      try {
        changed_settings(run.settings,
                         overrides_at(variant, run.settings, run.settings.data.length));
        fits = true;
      } catch (const Error& error) {  // what only some schemes refuse is a cell of the table
        refused = error;
      }
    }
    if (fits || !refused) continue;
    const Error::Parts& parts = refused->parts();
    throw_usage("evaluate.variants, " + variant.name,
                (parts.location.empty() ? "" : parts.location + ": ") + parts.message, parts.hint);
  }
}

std::size_t expected_evaluations(const StudySettings& study, const StudyRun& run) {
  const auto variants = std::ranges::count_if(
      study.evaluations.variants,
      [&](const StudyVariant& variant) { return is_meant(variant, run.settings); });
  return study.evaluations.lengths.size() * (1 + static_cast<std::size_t>(variants));
}

std::vector<Job> evaluation_jobs(const StudySettings& study, const StudyRun& run,
                                 const std::string& program) {
  StudySettings alone = study;
  alone.runs = {run};
  const Plan plan(alone, study_rows(alone, {training_result(run)}, StudyOrder::file));
  InnerPath(plan.folder()).make_folder();
  std::vector<Job> jobs;
  for (const Evaluation& evaluation : plan.evaluations) {
    const StoredWork work = work_of(evaluation, plan.folder(), program);
    if (!work.is_there()) jobs.push_back(shared_job(work, claims_in(plan.folder())));
  }
  return jobs;
}

LengthOutcome evaluate_lengths(const StudySettings& study, const std::vector<StudyRow>& rows,
                               const LengthOptions& options) {
  Plan plan(study, rows);
  InnerPath(plan.folder()).make_folder();
  std::vector<StoredWork> work;
  for (const Evaluation& evaluation : plan.evaluations) {
    work.push_back(work_of(evaluation, plan.folder(), options.program));
  }
  const StoredWorkOutcome made = make_missing(
      work, claims_in(plan.folder()), {.parallel = options.parallel, .failures = options.failures});
  LengthOutcome result{.signal = made.signal};
  if (result.signal != 0) return result;
  for (const Evaluation& evaluation : plan.evaluations) {
    LengthCell& cell = plan.rows[evaluation.row].cells[evaluation.cell];
    const auto failure = made.failures.find(evaluation.file.stem().string());
    const bool failed = failure != made.failures.end();
    std::optional<LanguageEvaluation> figures;
    if (!failed) figures = stored(evaluation);
    if (figures && cell.reason.empty()) cell.runs.emplace(evaluation.run, std::move(*figures));
    if (figures) continue;
    ++result.failed;
    cell.reason = "failed: " + (failed ? failure->second
                                       : "it left no evaluation in " + evaluation.file.string());
    cell.runs.clear();  // the others' mean would stand for all
  }
  result.rows = std::move(plan.rows);
  return result;
}

}  // namespace roformer
