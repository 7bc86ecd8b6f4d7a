#include "experiments/evaluations.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/parts.h"
#include "base/random.h"
#include "config/load.h"
#include "config/schema.h"
#include "data/parallel_dataset.h"
#include "experiments/training_run.h"
#include "runs/shared_options.h"
#include "runs/trained_model.h"
#include "tasks/language/evaluation_report.h"
#include "tasks/untrained.h"
#include "training/checkpoint.h"
#include "training/training_state.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// --- The common part of both kinds of evaluation ---

// The checkpoint of the validation whose figures the run shows, so that both describe the same
// weights. The other checkpoint if that one was not kept.
struct EvaluatedWeights {
  std::string which;  // "last" or "best", for --checkpoint
  std::string state;  // tells its checkpoint from another's, as text
};

// One child process and the file that it writes.
struct Evaluation {
  std::size_t row = 0, cell = 0;  // in the result
  std::string run;                // "rope-seed1"
  std::string title;              // "rope-seed1-yarn-256"
  std::vector<std::string> arguments;
  InnerPath file;
  std::string key = {};  // Job::key
};

bool keeps_step(const fs::path& run, std::int64_t step) {
  try {
    find_checkpoint(run, std::to_string(step));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Throws Error if the finished run has no checkpoint.
EvaluatedWeights weights_of(const StudyRun& run) {
  const fs::path folder = run_folder(run);
  const std::optional<TrainingSummary> summary = read_training_summary(folder);
  ROFORMER_ASSERT(summary);
  bool best = shows_best_validation(run) && summary->best() != nullptr;
  if (!keeps_step(folder, best ? summary->best()->step : summary->consumed.steps)) best = !best;
  const std::string which = best ? "best" : "last";
  const fs::path checkpoint = find_checkpoint(folder, which);
  return {.which = which,
          .state = read_file(checkpoint / kStateFile, kLargestDescription) +
                   read_file(checkpoint / "config.yaml", kLargestDescription)};
}

InnerPath evaluations_folder(const StudySettings& study) {
  return InnerPath::named(study.folder) / "evaluations";
}

// The file's name, TITLE-0123456789abcdef, depends on the weights, the fingerprint of the evaluated
// data and the flags.
Evaluation make_evaluation(const StudySettings& study, const StudyRun& run,
                           const EvaluatedWeights& weights, const std::string& title,
                           const std::string& data, const std::vector<std::string>& flags,
                           const char* extension) {
  std::string identity = weights.state + data;
  for (const std::string& flag : flags) identity += " " + flag;
  Evaluation evaluation{
      .run = run.name,
      .title = title,
      .arguments = {"evaluate", run_folder(run).string(), "--checkpoint", weights.which},
      .file = evaluations_folder(study) /
              (title + "-" + hexadecimal(random_word(identity)) + extension)};
  std::vector<std::string>& arguments = evaluation.arguments;
  // The study says where the data are today.
  if (const fs::path& folder = run.settings.data.directory; !folder.empty()) {
    arguments.insert(arguments.end(), {"--data", folder.string()});
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"--output", evaluation.file.string()});
  return evaluation;
}

// read(evaluation) returns its result. Empty if the result is missing or damaged.
template <typename Read>
StoredWork work_of(const Evaluation& evaluation, const char* log, const std::string& program,
                   const Read& read) {
  const fs::path output = fs::path(evaluation.file.path()).replace_extension(log);
  return {
      .job = {.name = evaluation.title,
              .key = evaluation.key,
              .command = {.program = program, .arguments = evaluation.arguments, .output = output},
              .progress = [] { return JobProgress{}; }},
      .is_there = [evaluation, read] { return read(evaluation).has_value(); }};
}

struct MadeEvaluations {
  std::size_t failed = 0;
  int signal = 0;  // that stopped them; then nothing was taken
};

// Makes the missing evaluations, then calls take(evaluation, result, problem) for each with the
// result, or with the reason why there is none.
template <typename Read, typename Take>
MadeEvaluations make_evaluations(const StudySettings& study,
                                 const std::vector<Evaluation>& evaluations,
                                 const StudyEvaluationOptions& options, const char* log,
                                 const char* product, const Read& read, const Take& take) {
  std::vector<StoredWork> work;
  for (const Evaluation& one : evaluations) {
    work.push_back(work_of(one, log, options.program, read));
  }
  const StoredWorkOutcome outcome =
      make_missing(work, evaluations_folder(study) / "claims",
                   {.parallel = options.parallel, .failures = options.failures});
  MadeEvaluations made{.signal = outcome.signal};
  for (std::size_t i = 0; i < evaluations.size() && made.signal == 0; ++i) {
    const Evaluation& one = evaluations[i];
    const auto failure = outcome.failures.find(key_of(work[i].job));
    const bool failed = failure != outcome.failures.end();
    auto result = failed ? std::nullopt : read(one);
    const std::string problem =
        failed ? failure->second : fmt::format("it left no {} in {}", product, one.file.string());
    made.failed += !result;
    take(one, std::move(result), problem);
  }
  return made;
}

// --- Lengths ---

bool is_meant(const StudyVariant& variant, const Settings& trained) {
  return variant.scheme.empty() || variant.scheme == trained.position.scheme;
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

// The settings of a trained model with the options of its evaluation.
Settings changed_settings(const Settings& trained, const std::vector<Override>& overrides) {
  std::vector<Override> all;
  for (const Key& key : schema()) {
    const bool text = key.type == KeyType::path || key.type == KeyType::text;
    const bool location = text && key.scheme().empty();  // changes no weight
    if (!location) all.push_back({.key = key.name, .text = key.get(trained)});
  }
  const std::vector<Override> changes = with_shared_options(trained, overrides);
  all.insert(all.end(), changes.begin(), changes.end());
  return default_settings(all);
}

// Why a trained model cannot be evaluated with these options; "" if it can.
std::string length_refusal(const Settings& trained, const std::vector<Override>& overrides,
                           std::int64_t length) {
  try {
    require_positions(changed_settings(trained, overrides), "", length);
    return "";
  } catch (const Error& error) {  // for a table's cell, on one line
    std::string reason = error.parts().message;
    for (std::size_t at = 0; (at = reason.find('\n', at)) != std::string::npos; at += 2) {
      reason.replace(at, 1, "; ");
    }
    return reason;
  }
}

// The rows of all lengths and the evaluations that fill them.
class LengthPlan {
 public:
  LengthPlan(const StudySettings& study, const std::vector<StudyRow>& rows) : study_(study) {
    evaluations_folder(study).make_folder();
    for (const StudyRow& row : rows) add(row, nullptr);
    for (const StudyVariant& variant : study.evaluations.variants) {
      for (const StudyRow& row : rows) {
        if (is_meant(variant, settings_of(row))) add(row, &variant);
      }
    }
  }

  std::vector<LengthRow> rows;
  std::vector<Evaluation> evaluations;

 private:
  const StudySettings& study_;
  std::map<std::string, EvaluatedWeights> weights_;  // of the runs; each is read once

  const Settings& settings_of(const StudyRow& row) const {
    return run_named(study_, row.runs.front().name).settings;
  }

  void add(const StudyRow& row, const StudyVariant* variant) {
    const Settings& settings = settings_of(row);
    const std::string added = variant == nullptr ? "" : variant->name;
    std::vector<const RunResult*> finished;
    for (const RunResult& run : row.runs) {
      if (run.finished()) finished.push_back(&run);
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
      LengthCell cell{.length = length, .reason = finished.empty() ? row.reasons() : ""};
      if (!finished.empty()) {
        const auto overrides =
            variant == nullptr ? std::vector<Override>{} : overrides_at(*variant, settings, length);
        cell.reason = length_refusal(settings, overrides, length);
        if (cell.reason.empty()) {
          cell.reason = add_evaluations(finished, overrides, length, result);
        }
      }
      result.cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(result));
  }

  const EvaluatedWeights& weights_of_run(const std::string& name) {
    const auto known = weights_.find(name);
    if (known != weights_.end()) return known->second;
    return weights_.emplace(name, weights_of(run_named(study_, name))).first->second;
  }

  // The evaluations of the runs for the next cell of `result`. Returns why there are none, or "".
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
    std::ranges::move(planned, std::back_inserter(evaluations));
    return "";
  }

  Evaluation evaluation(const RunResult& result, const EvaluatedWeights& weights,
                        const std::string& variant, const std::vector<Override>& overrides,
                        std::int64_t length) const {
    std::vector<std::string> flags{"--length", std::to_string(length)};
    if (study_.evaluations.of_test()) flags.insert(flags.end(), {"--split", "test"});
    for (const Override& override : overrides) {
      flags.insert(flags.end(), {"--" + override.key, override.text});
    }
    const std::string title =
        fmt::format("{}{}{}-{}", result.name, variant.empty() ? "" : "-", variant, length);
    Evaluation one =
        make_evaluation(study_, run_named(study_, result.name), weights, title,
                        recorded_text(result.record, "/data/fingerprint"), flags, ".json");
    one.row = rows.size();
    // The file's name tells run "a" with variant "b" from run "a-b".
    one.key = one.file.path().stem().string();
    return one;
  }
};

std::optional<LanguageEvaluation> read_evaluation(const Evaluation& evaluation) {
  std::error_code error;
  if (!fs::exists(evaluation.file.path(), error)) return std::nullopt;
  try {
    return evaluation_of(read_checksummed_json(evaluation.file));
  } catch (const std::exception& problem) {  // unreadable, or not what was written
    log::warn("{} is no evaluation: {}", evaluation.file.string(), problem.what());
    return std::nullopt;
  }
}

// --- Translations ---

std::vector<std::string> lines_of(const fs::path& file) {
  const std::string text = read_file(file);
  const std::vector<std::string_view> lines = split_at(text, '\n');
  return {lines.begin(), lines.end()};
}

// `set` is the fingerprint of the data that are translated.
Evaluation decoding_of(const StudySettings& study, const RunResult& result, std::size_t row,
                       std::uint64_t set) {
  const StudyRun& run = run_named(study, result.name);
  std::vector<std::string> flags{"--split", study.evaluations.split, "--decoding.sentences",
                                 std::to_string(study.evaluations.sentences)};
  // Uses today's settings of the study, whatever the run was trained with.
  for (const Key& key : schema()) {
    const std::string name(key.name);
    if (!name.starts_with("decoding.") || name == "decoding.sentences") continue;
    flags.insert(flags.end(), {"--" + name, key.get(run.settings)});
  }
  Evaluation decoding = make_evaluation(
      study, run, weights_of(run), run.name + "-" + study.evaluations.split,
      recorded_text(result.record, "/data/fingerprint") + hexadecimal(set), flags, ".txt");
  decoding.title = run.name;
  decoding.row = row;
  return decoding;
}

StudyTranslations empty_translations(const StudySettings& study) {
  const ParallelDataset dataset(study.runs.front().settings.data.directory);
  const Split split = measured_split(study.evaluations.split);
  if (dataset.sentences(split) == 0) {
    throw_usage(dataset.folder().string(), fmt::format("has no {} set", study.evaluations.split),
                "evaluate.split names the other one, or prepare it with --test-fraction");
  }
  StudyTranslations result{.split = study.evaluations.split,
                           .data = dataset.description().fingerprint,
                           .target_language = dataset.description().languages.target,
                           .sources = dataset.text(split, Side::source),
                           .references = dataset.text(split, Side::target)};
  if (study.evaluations.sentences > 0) {
    const std::size_t count =
        std::min(result.sources.size(), static_cast<std::size_t>(study.evaluations.sentences));
    result.sources.resize(count);
    result.references.resize(count);
  }
  return result;
}

// Why a row has nothing to compare; "" if it has.
std::string translation_refusal(const StudySettings& study, const StudyRow& row) {
  if (!row.finished()) return row.reasons();
  const StudyRun& first = study.runs.front();
  for (const RunResult& run : row.runs) {
    const fs::path& own = run_named(study, run.name).settings.data.directory;
    if (own != first.settings.data.directory) {
      return "its data are others than those of " + first.name;
    }
  }
  return "";
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
        // An option that only some schemes refuse becomes a cell of the table.
      } catch (const Error& error) {
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
  const LengthPlan plan(alone, study_rows(alone, {training_result(run)}, StudyOrder::file));
  std::vector<Job> jobs;
  for (const Evaluation& evaluation : plan.evaluations) {
    const StoredWork work = work_of(evaluation, ".txt", program, read_evaluation);
    if (!work.is_there()) jobs.push_back(shared_job(work, evaluations_folder(study) / "claims"));
  }
  return jobs;
}

LengthOutcome evaluate_lengths(const StudySettings& study, const std::vector<StudyRow>& rows,
                               const StudyEvaluationOptions& options) {
  LengthPlan plan(study, rows);
  const MadeEvaluations made =
      make_evaluations(study, plan.evaluations, options, ".txt", "evaluation", read_evaluation,
                       [&](const Evaluation& one, auto figures, const std::string& problem) {
                         LengthCell& cell = plan.rows[one.row].cells[one.cell];
                         if (!figures) {
                           cell.reason = "failed: " + problem;
                           cell.runs.clear();  // a mean of the others would not be that of all
                         } else if (cell.reason.empty()) {
                           cell.runs.emplace(one.run, std::move(*figures));
                         }
                       });
  if (made.signal != 0) return {.signal = made.signal};
  return {.rows = std::move(plan.rows), .failed = made.failed};
}

TranslationOutcome translate_sets(const StudySettings& study, const std::vector<StudyRow>& rows,
                                  const StudyEvaluationOptions& options) {
  TranslationOutcome outcome{.translations = empty_translations(study)};
  StudyTranslations& result = outcome.translations;
  evaluations_folder(study).make_folder();
  std::vector<Evaluation> decodings;
  for (const StudyRow& row : rows) {
    result.rows.push_back({.title = row.title(),
                           .labels = row.labels,
                           .runs = {},
                           .reason = translation_refusal(study, row)});
    if (!result.rows.back().reason.empty()) continue;
    try {
      std::vector<Evaluation> own;
      for (const RunResult& run : row.runs) {
        own.push_back(decoding_of(study, run, result.rows.size() - 1, result.data));
      }
      std::ranges::move(own, std::back_inserter(decodings));
    } catch (const Error& error) {
      result.rows.back().reason = error.what();
    }
  }
  // The lines of a decoding. Empty if it is missing or incomplete.
  const auto read = [sentences = result.sources.size()](
                        const Evaluation& decoding) -> std::optional<std::vector<std::string>> {
    std::error_code error;
    if (!fs::exists(decoding.file.path(), error)) return std::nullopt;
    std::vector<std::string> lines = lines_of(decoding.file);
    if (lines.size() == sentences) return lines;
    log::warn("{} has {} lines for {} sentences", decoding.file.string(), lines.size(), sentences);
    return std::nullopt;
  };
  const MadeEvaluations made =
      make_evaluations(study, decodings, options, ".log", "translations", read,
                       [&](const Evaluation& decoding, auto lines, const std::string& problem) {
                         TranslationRow& row = result.rows[decoding.row];
                         if (!lines) {
                           row.reason = decoding.run + " failed: " + problem;
                           row.runs.clear();  // a mean of the others would not be that of all
                         } else if (row.reason.empty()) {
                           row.runs.push_back({.run = decoding.run, .lines = std::move(*lines)});
                         }
                       });
  outcome.failed = made.failed;
  outcome.signal = made.signal;
  return outcome;
}

}  // namespace roformer
