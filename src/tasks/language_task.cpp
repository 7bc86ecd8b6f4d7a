#include "tasks/language_task.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "config/attention_layers.h"
#include "config/task_facts.h"
#include "metrics/clustered_mean.h"
#include "metrics/language.h"
#include "tasks/language_batches.h"
#include "tasks/shared_batches.h"

namespace roformer {
namespace {

// Rows of a validation batch; the numbers do not depend on it.
constexpr std::int64_t kValidationTokens = 8192;

struct LanguageTrainingBatch : TrainingBatch {
  LanguageBatch batch;
};

// A split in rows of this length, in order.
std::unique_ptr<LanguageBatches> ordered_batches(const Settings& settings, const Dataset& dataset,
                                                 Split split, std::int64_t length) {
  return make_language_batches(
      settings, {{dataset}},
      {.split = split,
       .length = length,
       .batches = {.rows = std::max<std::int64_t>(1, kValidationTokens / length),
                   .cross_documents = settings.data.cross_documents}});
}

[[noreturn]] void refuse_without_targets(const Dataset& dataset, Split split) {
  throw_failure(dataset.folder().string(),
                fmt::format("the {} split has no target to predict", to_string(split)),
                fmt::format("a larger {} split, or more data.validation_tokens", to_string(split)));
}

// Before the training and not at its first validation.
void require_targets(const LanguageBatches& batches, const Settings& settings,
                     const Dataset& dataset) {
  const std::int64_t limit = settings.data.validation_tokens;
  const Arrangement arrangement = arrange(settings.data.length, {});
  for (std::int64_t n = 0; n < batches.validation_batches(limit); ++n) {
    if (batches.validation(n, limit, arrangement).labels.numel() > 0) return;
  }
  refuse_without_targets(dataset, Split::validation);
}

// Of int64 on the CPU, going on from the hash of what came before.
std::uint64_t hashed(const at::Tensor& numbers, std::uint64_t before) {
  const at::Tensor contiguous = numbers.contiguous();
  return XXH3_64bits_withSeed(contiguous.const_data_ptr<std::int64_t>(),
                              static_cast<std::size_t>(contiguous.nbytes()), before);
}

// What is known of a validation batch: tokens and right answers, then of each row the sum of its
// targets' losses and how many they are.
enum BatchFigures : std::size_t { kTokens, kCorrect, kRows };

DenominatorFigures of_all_processes(Processes& processes, const DenominatorFigures& own) {
  DenominatorFigures all;
  const std::vector<double> figures = {static_cast<double>(own.count),
                                       static_cast<double>(own.small), own.least};
  for (const std::vector<double>& one : gather_numbers(processes, figures)) {
    all.count += static_cast<std::int64_t>(one[0]);
    all.small += static_cast<std::int64_t>(one[1]);
    all.least = std::min(all.least, one[2]);
  }
  return all;
}

LanguageEvaluation evaluate(const LanguageModel& model, const Settings& settings,
                            const Dataset& dataset, const LanguageBatches& batches,
                            const EvaluationOptions& options, Processes& processes) {
  if (!settings.data.cross_documents &&
      (options.arrangement.drop_middle != 0 || options.arrangement.shuffle_blocks != 0)) {
    throw_usage("--drop-middle, --shuffle-blocks",
                "need rows that are one sequence, but data.cross_documents is false",
                "train and evaluate with data.cross_documents true");
  }
  const std::int64_t length = options.length > 0 ? options.length : settings.data.length;
  const std::int64_t limit = options.tokens > 0 ? options.tokens : settings.data.validation_tokens;
  const Arrangement arrangement = arrange(length, options.arrangement);
  const auto kept = static_cast<std::int64_t>(arrangement.order.size());
  const c10::AutoGradMode no_gradient(false);
  LanguageEvaluation result{.split = options.split};
  std::vector<double> sums(static_cast<std::size_t>(length));
  std::optional<DenominatorCheck> denominators;
  if (uses_linear_attention(settings.attention)) denominators.emplace();
  std::vector<double> counts(static_cast<std::size_t>(length));
  std::uint64_t fingerprint = 0;
  std::vector<std::vector<double>> found;  // of this process's batches, as BatchFigures says
  for (std::int64_t n = processes.rank(); n < batches.validation_batches(limit);
       n += processes.count()) {
    processes.alive();
    const LanguageBatch batch = batches.validation(n, limit, arrangement);
    const std::int64_t targets = batch.labels.numel();
    const auto rows = static_cast<std::size_t>(batch.ids.numel() / kept);
    std::vector<double>& figures = found.emplace_back(kRows + 2 * rows);
    figures[kTokens] = static_cast<double>(batch.ids.numel());
    if (targets == 0) continue;
    fingerprint = hashed(batch.labels, fingerprint);
    if (batch.target_positions.defined()) fingerprint = hashed(batch.target_positions, fingerprint);
    const CrossEntropy loss = model.loss(to_device(batch, model.plan().device), {.training = false},
                                         arrangement.positions);
    const at::Tensor host = loss.losses.cpu();
    const double* const losses = host.const_data_ptr<double>();
    const std::int64_t* const positions =
        batch.target_positions.defined() ? batch.target_positions.const_data_ptr<std::int64_t>()
                                         : nullptr;
    for (std::int64_t i = 0; i < targets; ++i) {
      const std::int64_t place = positions != nullptr ? positions[i] : i;
      const auto row = static_cast<std::size_t>(place / kept);
      const auto origin =
          static_cast<std::size_t>(arrangement.order[static_cast<std::size_t>(place % kept)]);
      figures[kRows + 2 * row] += losses[i];
      figures[kRows + 2 * row + 1] += 1;
      sums[origin] += losses[i];
      counts[origin] += 1;
    }
    figures[kCorrect] = loss.correct.sum().item<double>();
  }
  double correct = 0;
  for (const std::vector<double>& figures : in_batch_order(processes, found)) {
    result.tokens += static_cast<std::int64_t>(figures[kTokens]);
    correct += figures[kCorrect];
    for (std::size_t i = kRows; i < figures.size(); i += 2) {
      result.loss_sums_by_row.push_back(figures[i]);
      result.targets_by_row.push_back(static_cast<std::int64_t>(figures[i + 1]));
      result.targets += result.targets_by_row.back();
    }
  }
  sums = sum_numbers(processes, sums);
  counts = sum_numbers(processes, counts);
  if (processes.alone()) result.targets_fingerprint = fingerprint;
  if (denominators) result.denominators = of_all_processes(processes, denominators->figures());
  if (result.targets == 0) refuse_without_targets(dataset, options.split);
  const ClusteredMean mean = clustered_mean(result.loss_sums_by_row, result.targets_by_row);
  result.loss = mean.mean;
  result.standard_error = mean.standard_error;
  result.accuracy = correct / static_cast<double>(result.targets);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    result.targets_by_position.push_back(static_cast<std::int64_t>(counts[i]));
    result.losses_by_position.push_back(counts[i] > 0 ? sums[i] / counts[i]
                                                      : std::numeric_limits<double>::quiet_NaN());
  }
  return result;
}

struct Source {
  std::shared_ptr<const Dataset> dataset;
  double weight = 1;
};

// The data of a stage and how they are dealt with there.
struct Stage {
  std::vector<Source> sources;
  std::int64_t length = 0;
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
};

// The data set of a key's entry, which must have the tokenizer of data.directory.
std::shared_ptr<const Dataset> open_beside(const Dataset& main, const char* key,
                                           const std::string& entry,
                                           const std::filesystem::path& folder) {
  auto dataset = std::make_shared<const Dataset>(folder);
  const Tokenizer& own = dataset->tokenizer();
  if (own.fingerprint() == main.tokenizer().fingerprint()) return dataset;
  throw_usage(key,
              fmt::format("{}: {} has another tokenizer ({} pieces) than data.directory "
                          "({} pieces)",
                          entry, folder.string(), own.vocabulary_size(),
                          main.tokenizer().vocabulary_size()),
              "prepare it with the same one: roformer data prepare TEXT --tokenizer " +
                  main.folder().string());
}

std::vector<Source> sources_of(const Settings& settings,
                               const std::shared_ptr<const Dataset>& main) {
  std::vector<Source> result;
  for (const DataSource& source : settings.data.sources) {
    const bool same = source.directory == settings.data.directory;
    result.push_back({.dataset = same ? main
                                      : open_beside(*main, "data.sources",
                                                    fmt::format("source {}", result.size() + 1),
                                                    source.directory),
                      .weight = source.weight});
  }
  if (result.empty()) result.push_back({.dataset = main});
  return result;
}

std::vector<WeightedDataset> weighted(const std::vector<Source>& sources) {
  std::vector<WeightedDataset> result;
  for (const Source& source : sources) result.push_back({*source.dataset, source.weight});
  return result;
}

// At least one: a training without stages is one. A stage has a seed of its own, so that a later
// one of the same length does not repeat the rows and masks of an earlier one.
std::vector<Stage> stages_of(const Settings& settings,
                             const std::shared_ptr<const Dataset>& dataset,
                             const std::vector<Source>& sources) {
  std::vector<Stage> result;
  for (const StageSettings& stage : settings.stages) {
    const std::size_t number = result.size() + 1;
    result.push_back(
        {.sources =
             stage.directory.empty()
                 ? sources
                 : std::vector<Source>{{.dataset = open_beside(*dataset, "stages",
                                                               fmt::format("stage {}", number),
                                                               stage.directory)}},
         .length = stage.length.value_or(settings.data.length),
         .rows = stage.batch.value_or(settings.training.batch),
         .seed = number == 1 ? settings.seed
                             : random_key({settings.seed, random_word("stage"), number - 1})});
  }
  if (result.empty()) {
    result.push_back({.sources = sources,
                      .length = settings.data.length,
                      .rows = settings.training.batch,
                      .seed = settings.seed});
  }
  return result;
}

// What a mixture comes to, before it is trained on.
void say_shares(const Settings& settings, const std::vector<Source>& sources) {
  if (settings.data.sources.empty()) return;
  double weights = 0, tokens = 0;
  const auto tokens_of = [](const Source& source) {
    return static_cast<double>(source.dataset->description()[Split::train].counts.tokens);
  };
  for (const Source& source : sources) {
    weights += source.weight;
    tokens += tokens_of(source);
  }
  for (const Source& source : sources) {
    const double share = source.weight / weights;
    log::info("source {}: {:.1f} % of the rows, {:.2f} passes over it in an epoch",
              source.dataset->folder().string(), 100 * share,
              share * tokens / std::max(tokens_of(source), 1.0));
  }
}

class LanguageTask : public TrainingTask {
 public:
  LanguageTask(const Settings& settings, std::shared_ptr<const Dataset> dataset,
               const ComputePlan& plan)
      : settings_(settings),
        dataset_(std::move(dataset)),
        model_(settings, dataset_->tokenizer().vocabulary_size(), plan),
        sources_(sources_of(settings, dataset_)),
        stages_(stages_of(settings, dataset_, sources_)) {
    say_shares(settings, sources_);
    validations_[settings.data.length];
    for (const Stage& stage : stages_) {
      batches_.push_back(
          make_language_batches(settings, weighted(stage.sources),
                                {.split = Split::train,
                                 .length = stage.length,
                                 .batches = {.rows = stage.rows,
                                             .cross_documents = settings.data.cross_documents,
                                             .seed = stage.seed}}));
      validations_[stage.length];
    }
    for (auto& [length, batches] : validations_) {
      batches = ordered_batches(settings, *dataset_, Split::validation, length);
    }
    require_targets(*validations_.at(settings.data.length), settings, *dataset_);
  }

  ParameterStore& parameters() override { return model_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    return make_batch_of(0, number);
  }
  std::unique_ptr<TrainingBatch> make_batch_of(std::int64_t stage,
                                               std::int64_t number) const override {
    auto result = std::make_unique<LanguageTrainingBatch>();
    result->batch = pinned_for(batches_[static_cast<std::size_t>(stage)]->training(number),
                               model_.plan().device);
    result->target_count = result->batch.labels.numel();
    result->tokens = result->batch.ids.numel();
    return result;
  }

  double batches_per_epoch() const override { return batches_per_epoch_of(0); }
  double batches_per_epoch_of(std::int64_t stage) const override {
    return batches_[static_cast<std::size_t>(stage)]->batches_per_epoch();
  }
  double tokens_per_batch() const override {
    return static_cast<double>(stages_.front().rows * stages_.front().length);
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const LanguageTrainingBatch&>(batch).batch;
    return model_.loss(to_device(source, model_.plan().device), mode).loss_sum;
  }

  // Ranked at data.length in every stage; the other stages' lengths stand beside it.
  ValidationResult validate(Processes& processes) override {
    const TaskFacts& facts = task_facts(settings_.task);
    ValidationResult result{.ranked_by = std::string(facts.ranked_by(settings_))};
    for (const auto& [length, batches] : validations_) {
      const LanguageEvaluation evaluation =
          evaluate(model_, settings_, *dataset_, *batches, {.length = length}, processes);
      result.tokens += evaluation.tokens;
      if (length != settings_.data.length) {
        result.figures[fmt::format("loss_at_length_{}", length)] = evaluation.loss;
        result.figures[fmt::format("accuracy_at_length_{}", length)] = evaluation.accuracy;
        continue;
      }
      result.figures["loss"] = evaluation.loss;
      result.figures["accuracy"] = evaluation.accuracy;
      result.figures["perplexity"] = perplexity(evaluation.loss);
      if (std::isfinite(evaluation.standard_error)) {
        result.figures["loss_standard_error"] = evaluation.standard_error;
      }
      if (evaluation.denominators) {
        result.figures["small_denominators"] = evaluation.denominators->small_share();
        result.figures["least_denominator"] = evaluation.denominators->least;
      }
      if (facts.causal) {
        result.figures["bits_per_character"] = bits_of_character(evaluation, *dataset_);
        result.figures["bits_per_byte"] = bits_of_byte(evaluation, *dataset_);
      }
    }
    return result;
  }

  // Of the data sets that are trained on and are not data.directory.
  nlohmann::json other_data() const {
    nlohmann::json record = {{"source_fingerprints", nlohmann::json::array()}};
    for (std::size_t i = 0; i < settings_.data.sources.size(); ++i) {
      record["source_fingerprints"].push_back(fmt::format(
          "{:016x} x {}", sources_[i].dataset->description().fingerprint, sources_[i].weight));
    }
    for (std::size_t i = 0; i < settings_.stages.size(); ++i) {
      if (settings_.stages[i].directory.empty()) continue;
      const Dataset& own = *stages_[i].sources.front().dataset;
      record["stage_fingerprints"].push_back(fmt::format("{:016x}", own.description().fingerprint));
    }
    return record;
  }

  void save_assets(const std::string& folder) const override {
    save_tokenizer(dataset_->tokenizer(), folder);
  }

 private:
  Settings settings_;
  std::shared_ptr<const Dataset> dataset_;
  LanguageModel model_;
  std::vector<Source> sources_;
  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<LanguageBatches>> batches_;                 // of the stages
  std::map<std::int64_t, std::unique_ptr<LanguageBatches>> validations_;  // by length
};

// A recipe that says how the data is split holds for its prepared set, too.
void check_split(const Settings& settings, const DatasetDescription& description) {
  const double wanted = settings.data.validation_fraction;
  if (wanted == 0 || wanted == description.validation_fraction) return;
  throw_usage(
      "data.validation_fraction",
      fmt::format("{} is wanted, {} was prepared with {}", wanted, settings.data.directory.string(),
                  description.validation_fraction),
      fmt::format("prepare it again with --validation-fraction {}, or set the key to 0", wanted));
}

double bits_of(const LanguageEvaluation& evaluation, const Dataset& dataset,
               std::uint64_t SplitCounts::*unit) {
  const SplitCounts& counts = dataset.description()[evaluation.split].counts;
  // The mean loss is over the separators behind the documents, too: they cost bits and are no text.
  const bool separated = dataset.tokenizer().special().separator >= 0;
  const auto targets = static_cast<double>(counts.tokens + (separated ? counts.documents : 0));
  const std::uint64_t units = std::max<std::uint64_t>(1, counts.*unit);
  return bits_per_character(evaluation.loss * targets, static_cast<std::int64_t>(units));
}

nlohmann::json data_record(const Settings& settings, const DatasetDescription& description) {
  const auto hex = [](std::uint64_t value) { return fmt::format("{:016x}", value); };
  return {{"folder", settings.data.directory.string()},
          {"name", shown_name(description)},
          {"fingerprint", hex(description.fingerprint)},
          {"tokenizer_fingerprint", hex(description.tokenizer_fingerprint)},
          {"training_tokens", description[Split::train].counts.tokens},
          {"validation_tokens", description[Split::validation].counts.tokens},
          {"test_tokens", description[Split::test].counts.tokens}};
}

}  // namespace

OpenedTask open_language_task(const TaskSources& sources) {
  const Settings& settings = sources.settings;
  const auto dataset = std::make_shared<const Dataset>(settings.data.directory);
  check_split(settings, dataset->description());
  if (task_facts(settings.task).causal) warn_of_line_ends(*dataset);
  auto task = std::make_unique<LanguageTask>(settings, dataset, sources.plan);
  nlohmann::json data = data_record(settings, dataset->description());
  data.update(task->other_data());
  return {.task = std::move(task),
          .tokenizer = std::shared_ptr<const Tokenizer>(dataset, &dataset->tokenizer()),
          .data = std::move(data)};
}

LanguageEvaluation evaluate_language_model(const LanguageModel& model, const Settings& settings,
                                           const Dataset& dataset,
                                           const EvaluationOptions& options) {
  const std::int64_t length = options.length > 0 ? options.length : settings.data.length;
  dataset.require(options.split);
  return evaluate(model, settings, dataset,
                  *ordered_batches(settings, dataset, options.split, length), options,
                  *make_single_process());
}

void warn_of_line_ends(const Dataset& dataset) {
  const TokenizerKind kind = dataset.tokenizer().kind();
  const bool seen = kind == TokenizerKind::characters || kind == TokenizerKind::bytes;
  if (seen || !dataset.description().counts_line_ends) return;
  log::warn(
      "{} was prepared by an earlier version, which counted line ends that the tokenizer never "
      "sees: bits per character are too low by their share; prepare it again for right ones",
      dataset.folder().string());
}

double bits_of_character(const LanguageEvaluation& evaluation, const Dataset& dataset) {
  return bits_of(evaluation, dataset, &SplitCounts::characters);
}

double bits_of_byte(const LanguageEvaluation& evaluation, const Dataset& dataset) {
  return bits_of(evaluation, dataset, &SplitCounts::bytes);
}

}  // namespace roformer
