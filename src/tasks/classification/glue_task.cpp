#include "tasks/classification/glue_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/task_facts.h"
#include "data/length_batches.h"
#include "tasks/classifier.h"
#include "tasks/data_record.h"

namespace roformer {
namespace {

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

ClassifierShape glue_shape(const GlueSettings& settings) {
  const GlueTaskFacts& facts = glue_task_facts(settings.task);
  return {.outputs = facts.is_regression() ? 1 : std::ssize(facts.labels),
          .head = settings.head,
          .head_dropout = settings.head_dropout,
          .pooling = settings.pooling};
}

std::vector<GlueSplit> validation_splits(GlueTask task) {
  if (task != GlueTask::mnli) return {GlueSplit::validation};
  return {GlueSplit::validation, GlueSplit::validation_mismatched};
}

namespace {

class GlueTraining : public TrainingTask {
 public:
  GlueTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
               const ComputePlan& plan)
      : settings_(settings),
        tokenizer_(std::move(tokenizer)),
        training_(load_glue_set(settings, *tokenizer_, GlueSplit::train)),
        validation_(load_validation_sets(settings, *tokenizer_)),
        batches_(lengths_of(training_.texts), text_bucket_options(settings)),
        classifier_(settings, tokenizer_->vocabulary_size(), glue_shape(settings.glue), plan) {}

  // The data's entry in run.json.
  nlohmann::json data() const {
    std::int64_t validation = 0;
    for (const GlueSet& set : validation_) validation += std::ssize(set.texts);
    nlohmann::json record = data_record(settings_);
    record["tokenizer_fingerprint"] = hexadecimal(tokenizer_->fingerprint());
    record["training_examples"] = std::ssize(training_.texts);
    record["validation_examples"] = validation;
    return record;
  }

  ParameterStore& parameters() override { return classifier_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    BucketBatch chosen = batches_[number];
    // Places texts of the same length side by side, so that one call of the attention handles them.
    std::ranges::stable_sort(chosen.sequences, {}, [&](std::int64_t text) {
      return training_.texts[static_cast<std::size_t>(text)].length();
    });
    auto batch = std::make_unique<GlueBatch>();
    batch->target_count = std::ssize(chosen.sequences);
    batch->tokens = chosen.tokens;
    for (const std::int64_t text : chosen.sequences) {
      const auto index = static_cast<std::size_t>(text);
      append(training_.texts[index], batch->texts);
      batch->examples.push_back(&training_.source.examples[index]);
    }
    return batch;
  }

  double batches_per_epoch() const override {
    return static_cast<double>(batches_.batches_per_epoch());
  }

  double tokens_per_batch() const override {
    const double tokens = std::accumulate(training_.texts.begin(), training_.texts.end(), 0.0,
                                          [](double sum, const EncodedText& text) {
                                            return sum + static_cast<double>(text.length());
                                          });
    return tokens / batches_per_epoch();
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const GlueBatch&>(batch);
    return glue_loss_sum(settings_.glue.task, classifier_.forward(source.texts, mode),
                         source.examples);
  }

  Figures validate(Processes& processes) override {
    Figures figures;
    for (std::size_t i = 0; i < validation_.size(); ++i) {
      const std::string suffix = i == 0 ? "" : "_mismatched";  // of MNLI's second set
      const GlueSet& set = validation_[i];
      for (const auto& [name, value] : glue_figures_with_warnings(
               settings_.glue.task, classifier_.predict(set.texts, processes),
               set.source.examples)) {
        figures[name + suffix] = value;
      }
    }
    return figures;
  }

  void save_assets(const InnerPath& folder) const override { save_tokenizer(*tokenizer_, folder); }

 private:
  Settings settings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  GlueSet training_;
  std::vector<GlueSet> validation_;
  LengthBuckets batches_;
  Classifier classifier_;
};

nlohmann::json glue_data_record(const Settings& settings) {
  const GlueTaskFacts& facts = glue_task_facts(settings.glue.task);
  const auto fingerprint = [&](GlueSplit split) {
    return file_fingerprint(find_glue_file(settings.data.directory, facts.task, split));
  };
  nlohmann::json record = {{"name", facts.folder},
                           {"fingerprint", fingerprint(GlueSplit::train)},
                           {"validation_fingerprint", fingerprint(GlueSplit::validation)}};
  if (!facts.submission_mismatched.empty()) {  // MNLI
    record["mismatched_fingerprint"] = fingerprint(GlueSplit::validation_mismatched);
  }
  return record;
}

// Reads all files. The tokenizer is the run's own if the run continues, else the one that the
// settings name, else that of the model to start from.
OpenedTask open_glue_task(const TaskSources& sources) {
  std::shared_ptr<const Tokenizer> tokenizer = text_tokenizer(sources);
  auto task = std::make_unique<GlueTraining>(sources.settings, tokenizer, sources.plan);
  nlohmann::json data = task->data();
  return {.task = std::move(task), .tokenizer = std::move(tokenizer), .data = std::move(data)};
}

}  // namespace

TaskDefinition define_classification() {
  return {.task = TaskKind::classification};
}

TaskDefinition define_glue() {
  return {.task = TaskKind::glue,
          .noun = Classifier::kNoun,
          .open = open_glue_task,
          .data_record = glue_data_record,
          .make_model = [](const Settings& settings, const TranslationVocabularies& vocabularies,
                           const ComputePlan& plan) -> std::unique_ptr<TaskModel> {
            return std::make_unique<Classifier>(settings, vocabularies.source,
                                                glue_shape(settings.glue), plan);
          },
          .evaluate_flags = {"--data", "--errors", "--against"},
          .refused_flags = {{"--split", "the labels of GLUE's test sets are secret"}},
          .evaluate = evaluate_classifier,
          .predict_flags = {"--glue"},
          .predict = predict_labels};
}

}  // namespace roformer
