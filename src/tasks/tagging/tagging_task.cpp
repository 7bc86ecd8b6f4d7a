#include "tasks/tagging/tagging_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/words.h"
#include "data/length_batches.h"
#include "tasks/classifier.h"
#include "tasks/data_record.h"
#include "tasks/tagging/tagging_figures.h"

namespace roformer {
namespace {

constexpr std::size_t kFewTags = 8;

struct TaggingBatch : TrainingBatch {
  WordBatch words;
  std::vector<std::int64_t> labels;  // [N]
};

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

class TaggingTraining : public TrainingTask {
 public:
  TaggingTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
                  const ComputePlan& plan)
      : settings_(settings),
        tokenizer_(std::move(tokenizer)),
        encoder_(*tokenizer_, settings.data.length),
        rule_(entity_rule(tagging_scheme(settings))),
        training_(encoded(read_parts())),
        windows_(windows_of(validation_.sentences, encoder_)),
        batches_(lengths(), text_bucket_options(settings)),
        tagger_(settings, tokenizer_->vocabulary_size(), plan) {}

  // The data's entry in run.json.
  nlohmann::json data() const {
    nlohmann::json record = data_record(settings_);
    record["tokenizer_fingerprint"] = hexadecimal(tokenizer_->fingerprint());
    record["training_examples"] = std::ssize(training_);
    record["validation_examples"] = std::ssize(validation_.sentences);
    record["classes"] = settings_.tagging.classes;
    return record;
  }

  ParameterStore& parameters() override { return tagger_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    BucketBatch chosen = batches_[number];
    // Places sentences of the same length side by side, so that one call of the attention handles
    // them.
    std::ranges::stable_sort(chosen.sequences, {}, [&](std::int64_t sentence) {
      return training_[static_cast<std::size_t>(sentence)].window.text.length();
    });
    auto batch = std::make_unique<TaggingBatch>();
    batch->tokens = chosen.tokens;
    for (const std::int64_t number_of_sentence : chosen.sequences) {
      const EncodedSentence& sentence = training_[static_cast<std::size_t>(number_of_sentence)];
      append(sentence.window, batch->words);
      batch->labels.insert(batch->labels.end(), sentence.labels.begin(), sentence.labels.end());
    }
    batch->target_count = std::ssize(batch->labels);
    return batch;
  }

  double batches_per_epoch() const override {
    return static_cast<double>(batches_.batches_per_epoch());
  }

  double tokens_per_batch() const override {
    const double tokens = std::accumulate(
        training_.begin(), training_.end(), 0.0, [](double sum, const EncodedSentence& sentence) {
          return sum + static_cast<double>(sentence.window.text.length());
        });
    return tokens / batches_per_epoch();
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const TaggingBatch&>(batch);
    return tag_loss_sum(tagger_.forward(source.words, mode), source.labels);
  }

  Figures validate(Processes& processes) override {
    return tagging_figures(tagger_.predict(windows_, processes), validation_.sentences,
                           settings_.tagging.classes, rule_)
        .values;
  }

  void save_assets(const InnerPath& folder) const override { save_tokenizer(*tokenizer_, folder); }

 private:
  Settings settings_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  WordEncoder encoder_;
  EntityRule rule_;
  TaggedSet validation_;
  std::vector<EncodedSentence> training_;
  std::vector<WordWindow> windows_;  // of validation_
  LengthBuckets batches_;
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

  std::vector<std::int32_t> lengths() const {
    std::vector<std::int32_t> lengths;
    for (const EncodedSentence& sentence : training_) {
      lengths.push_back(static_cast<std::int32_t>(sentence.window.text.length()));
    }
    return lengths;
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

OpenedTask open_tagging_task(const TaskSources& sources) {
  std::shared_ptr<const Tokenizer> tokenizer = text_tokenizer(sources);
  auto task = std::make_unique<TaggingTraining>(sources.settings, tokenizer, sources.plan);
  nlohmann::json data = task->data();
  return {.task = std::move(task), .tokenizer = std::move(tokenizer), .data = std::move(data)};
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
          .open = open_tagging_task,
          .data_record = tagging_data_record,
          .make_model = [](const Settings& settings, const TranslationVocabularies& vocabularies,
                           const ComputePlan& plan) -> std::unique_ptr<TaskModel> {
            return std::make_unique<Tagger>(settings, vocabularies.source, plan);
          },
          .evaluate_flags = {"--data", "--errors", "--against"},
          .refused_flags = {{"--split", "--data FILE names other sentences"}},
          .evaluate = evaluate_tagger,
          .predict_flags = {"--format conll", "--format text"},
          .predict = predict_tags};
}

}  // namespace roformer
