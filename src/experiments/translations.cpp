#include "experiments/translations.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "config/schema.h"
#include "data/parallel_dataset.h"
#include "experiments/evaluated_weights.h"
#include "experiments/run_facts.h"
#include "experiments/stored_work.h"
#include "experiments/training_run.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct Decoding {
  std::size_t row = 0;  // in the result
  std::string run;
  std::vector<std::string> arguments;
  fs::path file;
};

std::vector<std::string> lines_of(const fs::path& file) {
  const std::string text = read_file(file);
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

// `set` is the fingerprint of the data that are translated.
Decoding decoding_of(const StudySettings& study, const RunResult& result, std::size_t row,
                     std::uint64_t set, const fs::path& folder) {
  const StudyRun& run = run_named(study, result.name);
  const EvaluatedWeights weights = weights_of(run);
  std::vector<std::string> how{"--split", study.evaluations.split, "--decoding.sentences",
                               std::to_string(study.evaluations.sentences)};
  // As the study says it today, whatever the run was trained with.
  for (const Key& key : schema()) {
    const std::string name(key.name);
    if (!name.starts_with("decoding.") || name == "decoding.sentences") continue;
    how.insert(how.end(), {"--" + name, key.get(run.settings)});
  }
  Decoding decoding{.row = row, .run = run.name};
  const std::string data = data_fingerprint(result.record) + hexadecimal(set);
  decoding.file =
      folder /
      (evaluation_name(run.name + "-" + study.evaluations.split, weights, data, how) + ".txt");
  decoding.arguments = {"evaluate",     run_folder(run).string(),
                        "--checkpoint", weights.which,
                        "--data",       run.settings.data.directory.string()};
  decoding.arguments.insert(decoding.arguments.end(), how.begin(), how.end());
  return decoding;
}

// The lines that a decoding left; nothing where it is not done or not whole.
std::optional<std::vector<std::string>> stored(const Decoding& decoding, std::size_t sentences) {
  std::error_code error;
  if (!fs::exists(decoding.file, error)) return std::nullopt;
  std::vector<std::string> lines = lines_of(decoding.file);
  if (lines.size() == sentences) return lines;
  log::warn("{} has {} lines for {} sentences", decoding.file.string(), lines.size(), sentences);
  return std::nullopt;
}

StoredWork work_of(const Decoding& decoding, std::size_t sentences, const std::string& program) {
  std::vector<std::string> arguments = decoding.arguments;
  arguments.insert(arguments.end(), {"--output", decoding.file.string()});
  fs::path log = decoding.file;
  return {.job = {.name = decoding.run,
                  .command = {.program = program,
                              .arguments = std::move(arguments),
                              .output = log.replace_extension(".log")},
                  .progress = [] { return JobProgress{}; }},
          .is_there = [decoding, sentences] { return stored(decoding, sentences).has_value(); }};
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

// Why a row has nothing to compare; "" where it has.
std::string refusal(const StudySettings& study, const StudyRow& row) {
  if (!row.finished()) return row.reasons();
  const fs::path& data = study.runs.front().settings.data.directory;
  for (const RunResult& run : row.runs) {
    if (run_named(study, run.name).settings.data.directory != data) {
      return "its data are others than those of " + study.runs.front().name;
    }
  }
  return "";
}

}  // namespace

TranslationOutcome translate_sets(const StudySettings& study, const std::vector<StudyRow>& rows,
                                  const SetTranslationOptions& options) {
  TranslationOutcome outcome{.translations = empty_translations(study)};
  StudyTranslations& result = outcome.translations;
  const InnerPath folder = InnerPath::named(study.folder) / "evaluations";
  folder.make_folder();
  std::vector<Decoding> decodings;
  for (const StudyRow& row : rows) {
    result.rows.push_back(
        {.title = row.title(), .labels = row.labels, .runs = {}, .reason = refusal(study, row)});
    if (!result.rows.back().reason.empty()) continue;
    try {
      std::vector<Decoding> own;
      for (const RunResult& run : row.runs) {
        own.push_back(decoding_of(study, run, result.rows.size() - 1, result.data, folder));
      }
      decodings.insert(decodings.end(), own.begin(), own.end());
    } catch (const Error& error) {
      result.rows.back().reason = error.what();
    }
  }
  std::vector<StoredWork> work;
  for (const Decoding& decoding : decodings) {
    work.push_back(work_of(decoding, result.sources.size(), options.program));
  }
  const StoredWorkOutcome made =
      make_missing(work, folder / "claims", {.parallel = options.parallel});
  outcome.signal = made.signal;
  if (outcome.signal != 0) return outcome;
  for (const Decoding& decoding : decodings) {
    TranslationRow& row = result.rows[decoding.row];
    const auto failure = made.failures.find(decoding.run);
    const bool failed = failure != made.failures.end();
    std::optional<std::vector<std::string>> lines;
    if (!failed) lines = stored(decoding, result.sources.size());
    if (lines && row.reason.empty()) {
      row.runs.push_back({.run = decoding.run, .lines = std::move(*lines)});
    }
    if (lines) continue;
    ++outcome.failed;
    row.reason =
        decoding.run + " failed: " +
        (failed ? failure->second : "it left no translations in " + decoding.file.string());
    row.runs.clear();  // the others' mean would stand for all
  }
  return outcome;
}

}  // namespace roformer
