#include "tasks/glue_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/length_buckets.h"
#include "data/prefetcher.h"

namespace roformer {
namespace {

// Batches of a fixed number of texts mix all lengths, as the benchmark's baselines do: an unpadded
// batch pays nothing for it. Batches of a number of tokens are filled with texts of like length.
BucketOptions bucket_options(const Settings& settings) {
  constexpr std::int64_t kAllLengths = 1 << 30;
  BucketOptions options{.seed = settings.seed};
  if (settings.training.batch_tokens > 0) {
    options.tokens = settings.training.batch_tokens;
  } else {
    options.sequences = settings.training.batch;
    options.bucket_width = kAllLengths;
  }
  return options;
}

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts) {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  return lengths;
}

struct GlueBatch : TrainingBatch {
  TextBatch texts;
  std::vector<const GlueExample*> examples;
};

std::vector<GlueSet> load_validation_sets(const Settings& settings, const Tokenizer& tokenizer) {
  std::vector<GlueSet> sets;
  for (const GlueSplit split : validation_splits(settings.glue.task)) {
    sets.push_back(load_glue_set(settings, tokenizer, split));
  }
  return sets;
}

}  // namespace

GlueSet load_glue_set(const Settings& settings, const Tokenizer& tokenizer, GlueSplit split) {
  const GlueTaskFacts& facts = glue_task_facts(settings.glue.task);
  GlueSet set{.source = read_glue(settings.data.directory, settings.glue.task, split)};
  const bool test = split == GlueSplit::test || split == GlueSplit::test_mismatched;
  if (!test && !set.source.labelled) {
    throw_failure(settings.data.directory.string(),
                  fmt::format("the {} file of {} has no labels",
                              split == GlueSplit::train ? "training" : "validation", facts.folder));
  }
  std::int64_t cut = 0;
  for (const GlueExample& example : set.source.examples) {
    std::optional<std::string_view> second;
    if (facts.pairs) second = example.second;
    set.texts.push_back(encode_text(tokenizer, example.first, second, settings.data.length));
    cut += set.texts.back().cut ? 1 : 0;
  }
  if (cut > 0) {
    log::warn("{}: {} of {} examples are longer than data.length {} and were cut", facts.folder,
              format_count(cut), format_count(std::ssize(set.texts)), settings.data.length);
  }
  return set;
}

std::int64_t glue_outputs(GlueTask task) {
  const GlueTaskFacts& facts = glue_task_facts(task);
  return facts.is_regression() ? 1 : std::ssize(facts.labels);
}

std::vector<GlueSplit> validation_splits(GlueTask task) {
  if (task != GlueTask::mnli) return {GlueSplit::validation};
  return {GlueSplit::validation, GlueSplit::validation_mismatched};
}

std::map<std::string, double> validate_glue(const Classifier& classifier, GlueTask task,
                                            const std::vector<GlueSet>& sets) {
  std::map<std::string, double> result;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const std::string suffix = i == 0 ? "" : "_mismatched";
    for (const auto& [name, value] : glue_figures_with_warnings(
             task, classifier.predict(sets[i].texts), sets[i].source.examples)) {
      result[name + suffix] = value;
    }
  }
  return result;
}

struct GlueTraining::Parts {
  Settings settings;
  const Tokenizer& tokenizer;
  GlueSet training;
  std::vector<GlueSet> validation;
  LengthBuckets batches;
  Classifier classifier;
  Prefetcher<std::unique_ptr<GlueBatch>> loader;  // the last, since its threads use the others

  Parts(const Settings& all, const Tokenizer& words, const ComputePlan& plan)
      : settings(all),
        tokenizer((require_sentence_tokens(words), words)),
        training(load_glue_set(all, words, GlueSplit::train)),
        validation(load_validation_sets(all, words)),
        batches(lengths_of(training.texts), bucket_options(all)),
        classifier(all, words.vocabulary_size(), glue_outputs(all.glue.task), plan),
        loader({.threads = all.data.loader_threads, .depth = all.data.prefetch},
               [this](std::int64_t n) { return make_batch(n); }) {}

  std::unique_ptr<GlueBatch> make_batch(std::int64_t n) const {
    BucketBatch chosen = batches[n];
    // Texts of one length side by side are one call of the attention.
    std::ranges::stable_sort(chosen.sequences, {}, [&](std::int64_t text) {
      return training.texts[static_cast<std::size_t>(text)].length();
    });
    auto batch = std::make_unique<GlueBatch>();
    batch->loss_places = std::ssize(chosen.sequences);
    batch->tokens = chosen.tokens;
    for (const std::int64_t text : chosen.sequences) {
      const auto index = static_cast<std::size_t>(text);
      append(training.texts[index], batch->texts);
      batch->examples.push_back(&training.source.examples[index]);
    }
    return batch;
  }
};

GlueTraining::GlueTraining(const Settings& settings, const Tokenizer& tokenizer,
                           const ComputePlan& plan)
    : parts_(std::make_unique<Parts>(settings, tokenizer, plan)) {}

GlueTraining::~GlueTraining() = default;

nlohmann::json GlueTraining::data_record() const {
  const auto hex = [](std::uint64_t value) { return fmt::format("{:016x}", value); };
  std::int64_t validation = 0;
  for (const GlueSet& set : parts_->validation) validation += std::ssize(set.texts);
  return {{"folder", parts_->settings.data.directory.string()},
          {"name", glue_task_facts(parts_->settings.glue.task).folder},
          {"fingerprint", hex(parts_->training.source.fingerprint)},
          {"validation_fingerprint", hex(parts_->validation.front().source.fingerprint)},
          {"tokenizer_fingerprint", hex(parts_->tokenizer.fingerprint())},
          {"training_examples", std::ssize(parts_->training.texts)},
          {"validation_examples", validation}};
}

ParameterStore& GlueTraining::parameters() {
  return parts_->classifier.parameters();
}

std::unique_ptr<TrainingBatch> GlueTraining::next_batch() {
  return parts_->loader.next();
}

double GlueTraining::epochs() const {
  return static_cast<double>(parts_->loader.cursor()) / batches_per_epoch();
}

double GlueTraining::batches_per_epoch() const {
  return static_cast<double>(parts_->batches.batches_per_epoch());
}

double GlueTraining::tokens_per_batch() const {
  const auto& texts = parts_->training.texts;
  const double tokens = std::accumulate(
      texts.begin(), texts.end(), 0.0,
      [](double sum, const EncodedText& text) { return sum + static_cast<double>(text.length()); });
  return tokens / batches_per_epoch();
}

at::Tensor GlueTraining::loss_sum(const TrainingBatch& batch, const ForwardMode& mode) {
  const auto& source = static_cast<const GlueBatch&>(batch);
  return glue_loss_sum(parts_->settings.glue.task, parts_->classifier.forward(source.texts, mode),
                       source.examples);
}

ValidationResult GlueTraining::validate() {
  const GlueTask task = parts_->settings.glue.task;
  std::int64_t tokens = 0;
  for (const GlueSet& set : parts_->validation) {
    for (const EncodedText& text : set.texts) tokens += text.length();
  }
  return {.figures = validate_glue(parts_->classifier, task, parts_->validation),
          .ranked_by = glue_task_facts(task).metric,
          .higher_is_better = true,
          .tokens = tokens};
}

nlohmann::json GlueTraining::cursor() const {
  return {{"batch", parts_->loader.cursor()}};
}

void GlueTraining::restore_cursor(const nlohmann::json& cursor) {
  if (!cursor.is_object() || !cursor.contains("batch") || !cursor["batch"].is_number_integer() ||
      cursor["batch"].get<std::int64_t>() < 0) {
    throw_failure("state.json", "cursor: not the place of a GLUE task's data");
  }
  parts_->loader.seek(cursor["batch"].get<std::int64_t>());
}

void GlueTraining::save_assets(const std::string& folder) const {
  save_tokenizer(parts_->tokenizer, folder);
}

}  // namespace roformer
