#include "tasks/classification/classification_task.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress.h"
#include "config/task_facts.h"
#include "tasks/data_record.h"
#include "tasks/example_training.h"

namespace roformer {
namespace {

EncodedSet encode(LabelledTexts source, std::string name, const Settings& settings,
                  const Tokenizer& tokenizer) {
  EncodedSet set{.name = std::move(name), .source = std::move(source)};
  for (const LabelledText& example : set.source.examples) {
    std::optional<std::string_view> second;
    if (set.source.pairs) second = example.second;
    set.texts.push_back(encode_text(tokenizer, example.first, second, settings.data.length));
  }
  warn_of_cut(set.texts, set.name, "examples", settings.data.length);
  return set;
}

// The file that the validation examples come from, for messages.
std::string validation_name(const DataSettings& data) {
  return (data.validation.empty() ? data.train : data.validation).filename().string();
}

}  // namespace

EncodedSet load_glue_set(const Settings& settings, const Tokenizer& tokenizer, GlueSplit split) {
  const GlueTaskFacts& facts = glue_task_facts(settings.glue.task);
  LabelledTexts source = read_glue(settings.data.directory, settings.glue.task, split);
  const bool test = split == GlueSplit::test || split == GlueSplit::test_mismatched;
  if (!test && !source.labelled) {
    throw_failure(settings.data.directory.string(),
                  fmt::format("the {} file of {} has no labels",
                              split == GlueSplit::train ? "training" : "validation", facts.folder));
  }
  EncodedSet set = encode(std::move(source), facts.folder, settings, tokenizer);
  if (split != GlueSplit::validation_mismatched) return set;
  set.name += " (mismatched)";
  set.suffix = "_mismatched";
  return set;
}

std::vector<GlueSplit> validation_splits(GlueTask task) {
  if (task != GlueTask::mnli) return {GlueSplit::validation};
  return {GlueSplit::validation, GlueSplit::validation_mismatched};
}

std::vector<EncodedSet> load_validation_sets(const Settings& settings, const Tokenizer& tokenizer) {
  std::vector<EncodedSet> sets;
  if (settings.task == TaskKind::glue) {
    for (const GlueSplit split : validation_splits(settings.glue.task)) {
      sets.push_back(load_glue_set(settings, tokenizer, split));
    }
    return sets;
  }
  const DataSettings& data = settings.data;
  LabelledTexts texts =
      data.validation.empty()
          ? read_labelled_splits(data, settings.classification).validation
          : read_labelled_texts(data.validation, data.header, settings.classification);
  sets.push_back(encode(std::move(texts), validation_name(data), settings, tokenizer));
  return sets;
}

EncodedSplits load_splits(const Settings& settings, const Tokenizer& tokenizer) {
  if (settings.task == TaskKind::glue) {
    EncodedSet training = load_glue_set(settings, tokenizer, GlueSplit::train);
    return {.training = std::move(training),
            .validation = load_validation_sets(settings, tokenizer)};
  }
  const DataSettings& data = settings.data;
  LabelledSplits splits = read_labelled_splits(data, settings.classification);
  EncodedSplits encoded{.training = encode(std::move(splits.training),
                                           data.train.filename().string(), settings, tokenizer)};
  encoded.validation.push_back(
      encode(std::move(splits.validation), validation_name(data), settings, tokenizer));
  return encoded;
}

namespace {

class ClassificationTraining : public ExampleTraining {
 public:
  ClassificationTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
                         const ComputePlan& plan)
      : ExampleTraining(settings, std::move(tokenizer)),
        targets_(targets_of(settings)),
        splits_(load_splits(settings, *tokenizer_)),
        classifier_(settings, tokenizer_->vocabulary_size(), classifier_shape(settings), plan) {
    batch_by_length(lengths_of(splits_.training.texts));
    if (settings.task != TaskKind::classification || targets_.is_regression()) return;
    if (settings.classification.class_weights == ClassWeights::balanced) {
      weights_ = balanced_class_weights(targets_, splits_.training.source.examples);
    }
    say_classes();
  }

  nlohmann::json data() const {
    std::int64_t validation = 0;
    for (const EncodedSet& set : splits_.validation) validation += std::ssize(set.texts);
    return record_of(std::ssize(splits_.training.texts), validation);
  }

  ParameterStore& parameters() override { return classifier_.parameters(); }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const ExampleBatch&>(batch);
    std::vector<const LabelledText*> examples;
    for (const std::int64_t example : source.examples) {
      examples.push_back(&splits_.training.source.examples[static_cast<std::size_t>(example)]);
    }
    return classification_loss_sum(targets_, classifier_.forward(source.texts, mode), examples,
                                   weights_);
  }

  Figures validate(Processes& processes) override {
    Figures figures;
    for (const EncodedSet& set : splits_.validation) {
      for (const auto& [name, value] : figures_with_warnings(
               targets_, classifier_.predict(set.texts, {}, processes), set.source.examples)) {
        figures[name + set.suffix] = value;
      }
    }
    return figures;
  }

 protected:
  void fill(ExampleBatch& batch) const override {
    sort_by_length(batch);
    for (const std::int64_t text : batch.examples) {
      append(splits_.training.texts[static_cast<std::size_t>(text)], batch.texts);
    }
  }

 private:
  Targets targets_;
  EncodedSplits splits_;
  Classifier classifier_;
  at::Tensor weights_;  // of the classes; undefined: all 1

  // Says how many examples each class has.
  void say_classes() const {
    constexpr std::size_t kMostShown = 20;
    std::vector<std::int64_t> counts(targets_.classes.size());
    for (const LabelledText& example : splits_.training.source.examples) {
      if (example.label >= 0) ++counts[static_cast<std::size_t>(example.label)];
      for (const std::int64_t label : example.labels) ++counts[static_cast<std::size_t>(label)];
    }
    std::vector<std::string> words;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      words.push_back(
          fmt::format("{} {}", printable(targets_.classes[i]), format_count(counts[i])));
    }
    log::info("{} classes in {}: {}", counts.size(), targets_.title, few_of(words, kMostShown));
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) continue;
      log::warn("{}: class {} has no example to train on", targets_.title,
                printable(targets_.classes[i]));
    }
  }
};

nlohmann::json glue_data_record(const Settings& settings) {
  const GlueTaskFacts& facts = glue_task_facts(settings.glue.task);
  const auto fingerprint = [&](GlueSplit split) {
    return file_fingerprint(find_glue_file(settings.data.directory, facts.task, split));
  };
  nlohmann::json record = {{"name", facts.folder},
                           {"fingerprint", fingerprint(GlueSplit::train)},
                           {"validation_fingerprint", fingerprint(GlueSplit::validation)}};
  if (facts.task == GlueTask::mnli) {
    record["mismatched_fingerprint"] = fingerprint(GlueSplit::validation_mismatched);
  }
  return record;
}

// A run may not continue with other classes or another division into training and validation.
nlohmann::json file_data_record(const Settings& settings) {
  const DataSettings& data = settings.data;
  nlohmann::json record = {{"name", data.train.filename().string()},
                           {"fingerprint", file_fingerprint(data.train)}};
  if (data.validation.empty()) {
    record["validation_share"] = held_out_share(data);
  } else {
    record["validation_fingerprint"] = file_fingerprint(data.validation);
  }
  if (settings.classification.kind != TargetKind::regression) {
    record["classes"] = settings.classification.classes;
  }
  return record;
}

Settings with_classes(const Settings& settings) {
  Settings complete = settings;
  if (settings.classification.classes.empty()) {
    complete.classification.classes = find_classes(settings.data, settings.classification);
  }
  return complete;
}

std::unique_ptr<TaskModel> make_classifier(const Settings& settings,
                                           const TranslationVocabularies& vocabularies,
                                           const ComputePlan& plan) {
  return std::make_unique<Classifier>(settings, vocabularies.source, classifier_shape(settings),
                                      plan);
}

}  // namespace

TaskDefinition define_classification() {
  return {.task = TaskKind::classification,
          .noun = Classifier::kNoun,
          .complete = with_classes,
          .open = open_examples<ClassificationTraining>,
          .data_record = file_data_record,
          .make_model = make_classifier,
          .evaluate_flags = {"--data", "--errors", "--against", "--chart"},
          .refused_flags = {{"--split", "--data FILE names another labelled file"}},
          .evaluate = evaluate_classifier,
          .predict_flags = {"--format csv"},
          .predict = predict_labels};
}

TaskDefinition define_glue() {
  return {.task = TaskKind::glue,
          .noun = Classifier::kNoun,
          .open = open_examples<ClassificationTraining>,
          .data_record = glue_data_record,
          .make_model = make_classifier,
          .evaluate_flags = {"--data", "--errors", "--against", "--chart"},
          .refused_flags = {{"--split", "the labels of GLUE's test sets are secret"}},
          .evaluate = evaluate_classifier,
          .predict_flags = {"--format csv", "--glue"},
          .predict = predict_labels};
}

}  // namespace roformer
