#include "runs/new_run.h"

#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/progress.h"
#include "config/dump.h"
#include "config/words.h"
#include "runs/run_settings.h"
#include "runs/stored_weights.h"
#include "text/translation_tokenizers.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The checkpoints to average, by increasing step.
std::vector<fs::path> chosen_checkpoints(const AverageOptions& options) {
  const fs::path above = options.run.parent_path();
  if (above.filename() == "checkpoints" && is_run(above.parent_path())) {
    throw_usage(options.run.string(), "is one checkpoint, but an average needs several of a run",
                "name the run: " + above.parent_path().string());
  }
  if (!is_run(options.run)) throw_failure(options.run.string(), "there is no such run");
  std::vector<fs::path> all = list_checkpoints(options.run / "checkpoints");
  if (std::ssize(all) < options.count) {
    throw_usage(options.run.string(),
                fmt::format("holds {}, {} are to be averaged",
                            format_counted(std::ssize(all), "checkpoint"), options.count),
                "--last N averages fewer; training.keep_last keeps more");
  }
  if (options.best) {
    all = best_checkpoints(options.run / "checkpoints", "--last N averages the latest");
    if (std::ssize(all) < options.count) {
      throw_usage("--best",
                  fmt::format("only {} checkpoints of {} have a validation that counts", all.size(),
                              options.run.string()),
                  "--last N averages the latest");
    }
    all.resize(static_cast<std::size_t>(options.count));
    std::ranges::sort(all);
    return all;
  }
  return {all.end() - options.count, all.end()};
}

// `settings` are those of the last checkpoint.
std::vector<NamedTensor> mean_of(const std::vector<fs::path>& checkpoints,
                                 const Settings& settings) {
  const TranslationVocabularies vocabularies = stored_vocabularies(settings, checkpoints.back());
  std::map<std::string, at::Tensor> sums;
  std::map<std::string, at::ScalarType> types;
  for (const fs::path& folder : checkpoints) {
    const Safetensors file(weights_file(folder, settings.training.weights));
    require_parameters(settings, vocabularies, file);
    for (const std::string& name : file.names()) {
      const at::Tensor value = file.tensor(name);
      require_finite(file.path(), name, value,
                     "average others: --best, or --last N of a run that has not diverged");
      at::Tensor& sum = sums[name];
      types[name] = value.scalar_type();
      sum = sum.defined() ? sum + value.to(at::kDouble) : value.to(at::kDouble);
    }
  }
  std::vector<NamedTensor> means;
  for (const auto& [name, sum] : sums) {
    means.push_back(
        {.name = name, .value = (sum / static_cast<double>(checkpoints.size())).to(types[name])});
  }
  return means;
}

// The contents of run.json: the data of the run and the averaged checkpoints.
nlohmann::json data_of_average(const fs::path& run, const std::vector<fs::path>& checkpoints) {
  nlohmann::json data = nlohmann::json::object();
  if (is_present(run / "run.json")) {
    const nlohmann::json record = read_checksummed_json(run / "run.json");
    if (record.is_object() && record.contains("data") && record["data"].is_object()) {
      data = record["data"];
    }
  }
  data["average_of"] = fs::absolute(run).lexically_normal().string();
  data["checkpoints"] = nlohmann::json::array();
  for (const fs::path& folder : checkpoints) {
    data["checkpoints"].push_back(folder.filename().string());
  }
  return data;
}

void copy_entry(const fs::path& from, const InnerPath& to) {
  std::error_code error;
  if (!fs::is_directory(from, error)) {
    return write_file_atomically(to, read_file(from, kLargestVocabulary));
  }
  to.make_folder();
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    copy_entry(entry.path(), to / entry.path().filename());
  }
}

void copy_tokenizers(const fs::path& from, const InnerPath& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    if (is_tokenizer_entry(from, name)) {
      copy_entry(entry.path(), to / name);
    }
  }
}

}  // namespace

fs::path write_new_run(const NewRun& in, ExistingRun existing, const std::string& otherwise) {
  fs::path path = in.settings.runs / in.settings.run;
  refuse_existing(path, existing, otherwise);
  const RunDirectory run(path, existing);
  const std::string config = checksummed_lines(dump(in.settings, DumpStyle::compact));
  write_file_atomically(run.config(), config);
  write_checksummed_json(run.record(), run_record(this_program(), in.data));
  save_weights(run.checkpoints(), in.tensors, in.state, [&](const InnerPath& checkpoint) {
    write_file_atomically(checkpoint / "config.yaml", config);
    in.save_assets(checkpoint);
  });
  run.confirm();
  return path;
}

std::vector<fs::path> average_run(const AverageOptions& options) {
  std::error_code error;
  if (fs::equivalent(options.run, options.output, error)) {
    throw_usage("--output", "is the run itself, whose checkpoints are averaged", "another folder");
  }
  const std::vector<fs::path> checkpoints = chosen_checkpoints(options);
  for (const fs::path& folder : checkpoints) require_sound(folder);
  const TrainingState last = read_training_state(checkpoints.back());
  Settings settings = read_run_settings(checkpoints.back());
  const WeightsKind weights = settings.training.weights;  // every other command uses these
  if (has_average(checkpoints.back())) {
    log::info("{}: the {} weights are averaged, as its training.weights says", options.run.string(),
              to_word(weights));
  }
  const std::vector<NamedTensor> means = mean_of(checkpoints, settings);
  settings.training.ema = 0;  // the new run has no moving average
  settings.training.weights = WeightsKind::raw;
  // without a trailing slash
  const fs::path run = (options.output / "").lexically_normal().parent_path();
  settings.runs = run.parent_path();
  settings.run = run.filename().string();
  write_new_run({.settings = settings,
                 .tensors = means,
                 .state = {.seed = last.seed, .consumed = last.consumed},
                 .data = data_of_average(options.run, checkpoints),
                 .save_assets =
                     [&](const InnerPath& target) { copy_tokenizers(checkpoints.back(), target); }},
                options.existing, "choose another --output");
  return checkpoints;
}

}  // namespace roformer
