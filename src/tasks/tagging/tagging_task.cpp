#include "tasks/tagging/tagging_task.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/words.h"
#include "tasks/data_record.h"
#include "tasks/example_training.h"
#include "tasks/tagging/tagging_figures.h"

namespace roformer {
namespace {

constexpr std::size_t kFewTags = 8;

// How often each tag that is no class occurs.
std::map<std::string, std::int64_t> foreign_tags(const TaggedSet& set,
                                                 const std::vector<std::string>& classes) {
  std::map<std::string, std::int64_t> foreign;
  for (const TaggedSentence& sentence : set.sentences) {
    const std::vector<std::int64_t> numbers = tag_numbers(sentence.tags, classes);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0) ++foreign[sentence.tags[i]];
    }
  }
  return foreign;
}

std::string names_of(const std::map<std::string, std::int64_t>& tags) {
  std::vector<std::string> names;
  for (const auto& [tag, count] : tags) names.push_back(tag);
  return few_of(names, kFewTags);
}

// A sentence of the training as the model reads it.
struct EncodedSentence {
  WordWindow window;
  std::vector<std::int64_t> labels;  // of the words in the window
};

class TaggingTraining : public ExampleTraining {
 public:
  TaggingTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
                  const ComputePlan& plan)
      : ExampleTraining(settings, std::move(tokenizer)),
        encoder_(*tokenizer_, settings.data.length),
        rule_(entity_rule(tagging_scheme(settings))),
        training_(encoded(read_parts())),
        windows_(windows_of(validation_.sentences, encoder_)),
        tagger_(settings, tokenizer_->vocabulary_size(), plan) {
    std::vector<std::int32_t> lengths;
    for (const EncodedSentence& sentence : training_) {
      lengths.push_back(static_cast<std::int32_t>(sentence.window.text.length()));
    }
    batch_by_length(std::move(lengths));
  }

  nlohmann::json data() const {
    nlohmann::json record = record_of(std::ssize(training_), std::ssize(validation_.sentences));
    record["classes"] = settings_.tagging.classes;
    return record;
  }

  ParameterStore& parameters() override { return tagger_.parameters(); }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const ExampleBatch&>(batch);
    return tag_loss_sum(tagger_.forward(source.texts, mode), source.labels);
  }

  Figures validate(Processes& processes) override {
    return tagging_figures(tagger_.predict(windows_, {}, processes), validation_.sentences,
                           settings_.tagging.classes, rule_)
        .values;
  }

 protected:
  void fill(ExampleBatch& batch) const override {
    sort_by_length(batch);
    for (const std::int64_t number : batch.examples) {
      const EncodedSentence& sentence = training_[static_cast<std::size_t>(number)];
      append(sentence.window, batch.texts);
      batch.labels.insert(batch.labels.end(), sentence.labels.begin(), sentence.labels.end());
    }
    batch.target_count = std::ssize(batch.labels);
  }

 private:
  WordEncoder encoder_;
  EntityRule rule_;
  TaggedSet validation_;
  std::vector<EncodedSentence> training_;
  std::vector<WordWindow> windows_;  // of validation_
  Tagger tagger_;

  // Keeps the validation and returns the sentences to train on.
  TaggedSet read_parts() {
    TaggedParts parts = read_tagged_parts(settings_);
    const std::vector<std::string>& classes = settings_.tagging.classes;
    if (const auto foreign = foreign_tags(parts.training, classes); !foreign.empty()) {
      throw_usage("tagging.classes",
                  fmt::format("{} has tags that are none of them: {}", parts.training.file,
                              names_of(foreign)),
                  "leave the key out to take the tags of data.train");
    }
    warn_of_foreign_tags(parts.validation, classes);
    log::info("{}: {} with {} of {} tags ({}): {}", parts.training.file,
              format_counted(std::ssize(parts.training.sentences), "sentence"),
              format_counted(parts.training.words(), "word"), classes.size(),
              to_word(tagging_scheme(settings_)), few_of(classes, kFewTags));
    validation_ = std::move(parts.validation);
    return std::move(parts.training);
  }

  std::vector<EncodedSentence> encoded(const TaggedSet& set) const {
    std::vector<EncodedSentence> sentences;
    std::int64_t cut = 0, words = 0;
    for (const TaggedSentence& sentence : set.sentences) {
      EncodedSentence& result = sentences.emplace_back();
      result.window = encoder_.beginning(sentence.words);
      result.labels = tag_numbers(sentence.tags, settings_.tagging.classes);
      words += std::ssize(result.labels) - std::ssize(result.window.words);
      cut += result.window.text.cut ? 1 : 0;
      result.labels.resize(result.window.words.size());
    }
    if (cut > 0) {
      log::warn(
          "{}: {} of {} sentences are longer than data.length {} and were cut: {} are not learned; "
          "validations read them in overlapping windows",
          set.file, format_count(cut), format_count(std::ssize(set.sentences)),
          settings_.data.length, format_counted(words, "word"));
    }
    return sentences;
  }
};

nlohmann::json tagging_data_record(const Settings& settings) {
  nlohmann::json record = {{"name", settings.data.train.filename().string()},
                           {"fingerprint", file_fingerprint(settings.data.train)}};
  if (settings.data.validation.empty()) {
    record["validation_fraction"] = settings.data.validation_fraction;
  } else {
    record["validation_fingerprint"] = file_fingerprint(settings.data.validation);
  }
  return record;
}

}  // namespace

void warn_of_foreign_tags(const TaggedSet& set, const std::vector<std::string>& classes) {
  const auto foreign = foreign_tags(set, classes);
  if (foreign.empty()) return;
  std::int64_t words = 0;
  for (const auto& [tag, count] : foreign) words += count;
  log::warn("{}: {} with tags that are no classes of the model count as wrong: {}", set.file,
            format_counted(words, "word"), names_of(foreign));
}

TaskDefinition define_tagging() {
  return {.task = TaskKind::tagging,
          .noun = Tagger::kNoun,
          .complete = with_classes,
          .open = open_examples<TaggingTraining>,
          .data_record = tagging_data_record,
          .make_model = make_model_of<Tagger>,
          .evaluate_flags = {"--data", "--errors", "--against"},
          .refused_flags = {{"--split", "--data FILE names other sentences"}},
          .evaluate = evaluate_tagger,
          .predict_flags = {"--format conll", "--format text"},
          .predict = predict_tags};
}

}  // namespace roformer
