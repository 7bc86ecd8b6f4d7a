#include "tasks/matching/matching_task.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/triplet_maker.h"
#include "tasks/classification/classification_figures.h"
#include "tasks/data_record.h"
#include "tasks/example_training.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// 1 if the text is the closer one of a triplet, or if a pair matches.
double target_of(const MatchingSet& set, std::int64_t text) {
  if (set.source.triplets) return text % 2 == 0 ? 1 : 0;
  return set.source.examples[static_cast<std::size_t>(text)].matches ? 1 : 0;
}

// Sum over pairs, or over triplets whose two scores lie side by side. scores [B] with a graph.
at::Tensor matching_loss(const MatchingSettings& settings, const at::Tensor& scores,
                         const std::vector<double>& targets) {
  if (settings.loss == MatchingLoss::triplet) {
    const at::Tensor both = scores.view({-1, 2});
    return at::clamp_min(settings.margin - both.select(1, 0) + both.select(1, 1), 0).sum();
  }
  return at::binary_cross_entropy_with_logits(
      scores, on_device(at::tensor(targets, at::kDouble), scores.options()), {}, {},
      at::Reduction::Sum);
}

// The lengths of a batch's units: pairs of texts, or triplets under the triplet loss.
std::vector<std::int32_t> unit_lengths(const MatchingSettings& settings,
                                       const std::vector<EncodedText>& texts) {
  std::vector<std::int32_t> lengths = lengths_of(texts);
  if (settings.loss == MatchingLoss::pairs) return lengths;
  for (std::size_t i = 0; i < lengths.size() / 2; ++i) {
    lengths[i] = lengths[2 * i] + lengths[2 * i + 1];
  }
  lengths.resize(lengths.size() / 2);
  return lengths;
}

MatchingSet load_training_set(const Settings& settings, const Tokenizer& tokenizer) {
  MatchingExamples examples = read_matching(settings.data.directory, Split::train);
  const MatchingSettings& matching = settings.matching;
  const AugmentationSettings& augmentation = matching.augmentation;
  if (!examples.triplets) {
    const char* const key = matching.loss == MatchingLoss::triplet ? "matching.loss"
                            : augmentation.swap                    ? "matching.augmentation.swap"
                            : augmentation.transitivity ? "matching.augmentation.transitivity"
                                                        : nullptr;
    if (key != nullptr) {
      throw_usage(key, settings.data.directory.string() + " holds pairs, not triplets",
                  "leave the key out for pairs with labels");
    }
  } else {
    const auto before = std::ssize(examples.examples);
    examples.examples = augmented(std::move(examples.examples), augmentation);
    if (std::ssize(examples.examples) > before) {
      log::info("{} triplets, {} with those added", format_count(before),
                format_count(std::ssize(examples.examples)));
    }
  }
  return encode_matching(settings, tokenizer, std::move(examples),
                         settings.data.directory.string() + " (train)");
}

// Requires sets of one form: a loss over triplets has no meaning for separate pairs.
MatchingSet load_set_like(const MatchingSet& training, const Settings& settings,
                          const Tokenizer& tokenizer, Split split) {
  const bool optional = split == Split::test;
  if (optional && !has_matching_split(settings.data.directory, split)) return {};
  MatchingSet set = load_matching_set(settings, tokenizer, split);
  const auto form = [](const MatchingSet& of) { return of.source.triplets ? "triplets" : "pairs"; };
  if (set.source.triplets != training.source.triplets) {
    throw_usage(settings.data.directory.string(),
                fmt::format("the training set holds {}, the {} set {}", form(training),
                            to_string(split), form(set)),
                "a folder holds sets of one form");
  }
  return set;
}

// Looks for texts that occur in several sets that the user divided by hand.
void warn_of_known_texts(const MatchingSet& training, const MatchingSet& held_out, Split split) {
  std::set<std::string_view> known;
  for (const MatchingExample& example : training.source.examples) known.insert(example.anchor);
  const auto shared = std::ranges::count_if(
      held_out.source.examples,
      [&](const MatchingExample& example) { return known.contains(example.anchor); });
  if (shared == 0) return;
  log::warn("{} of {} examples of the {} set have an A that is in training, too",
            format_count(shared), format_count(std::ssize(held_out.source.examples)),
            to_string(split));
}

class MatchingTraining : public ExampleTraining {
 public:
  MatchingTraining(const Settings& settings, std::shared_ptr<const Tokenizer> tokenizer,
                   const ComputePlan& plan)
      : ExampleTraining(settings, std::move(tokenizer)),
        training_(load_training_set(settings, *tokenizer_)),
        validation_(load_set_like(training_, settings, *tokenizer_, Split::validation)),
        test_(load_set_like(training_, settings, *tokenizer_, Split::test)),
        unit_(settings.matching.loss == MatchingLoss::triplet ? 2 : 1),
        classifier_(settings, tokenizer_->vocabulary_size(), matching_shape(settings.matching),
                    plan) {
    batch_by_length(unit_lengths(settings.matching, training_.texts));
    warn_of_known_texts(training_, validation_, Split::validation);
    warn_of_known_texts(training_, test_, Split::test);
  }

  nlohmann::json data() const {
    return record_of(std::ssize(training_.source.examples),
                     std::ssize(validation_.source.examples));
  }

  ParameterStore& parameters() override { return classifier_.parameters(); }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const auto& source = static_cast<const ExampleBatch&>(batch);
    std::vector<double> targets;
    for_texts(source, [&](std::int64_t text) { targets.push_back(target_of(training_, text)); });
    return matching_loss(settings_.matching, classifier_.forward(source.texts, mode).select(1, 0),
                         targets);
  }

  // The test set is evaluated too, because the paper reports both. No choice depends on it.
  Figures validate(Processes& processes) override {
    Figures figures = matching_figures(settings_.matching, validation_,
                                       matching_scores(classifier_, validation_, {}, processes));
    if (!test_.texts.empty()) {
      const std::vector<bool> right =
          right_answers(test_, matching_scores(classifier_, test_, {}, processes));
      figures["test_accuracy"] =
          static_cast<double>(std::ranges::count(right, true)) / static_cast<double>(right.size());
    }
    return figures;
  }

 protected:
  void fill(ExampleBatch& batch) const override {
    for_texts(batch, [&](std::int64_t text) {
      append(training_.texts[static_cast<std::size_t>(text)], batch.texts);
    });
  }

 private:
  MatchingSet training_, validation_, test_;
  std::int64_t unit_;  // texts in the unit that batches consist of
  Classifier classifier_;

  template <class Use>
  void for_texts(const ExampleBatch& batch, Use use) const {
    for (const std::int64_t unit : batch.examples) {
      for (std::int64_t text = unit * unit_; text < (unit + 1) * unit_; ++text) use(text);
    }
  }
};

}  // namespace

MatchingSet encode_matching(const Settings& settings, const Tokenizer& tokenizer,
                            MatchingExamples examples, const std::string& name) {
  MatchingSet set{.source = std::move(examples)};
  const auto add = [&](const std::string& first, const std::string& second) {
    set.texts.push_back(
        encode_text(tokenizer, first, second, settings.data.length, settings.matching.truncation));
  };
  for (const MatchingExample& example : set.source.examples) {
    add(example.anchor, example.closer);
    if (set.source.triplets) add(example.anchor, example.farther);
  }
  const auto same = std::ranges::count_if(set.source.examples, [&](const MatchingExample& one) {
    return set.source.triplets && one.closer == one.farther;
  });
  if (same > 0) {
    log::warn("{}: {} of {} triplets have one text as B and C", name, format_count(same),
              format_count(std::ssize(set.source.examples)));
  }
  warn_of_unknown(set.texts, name, tokenizer);
  warn_of_cut(set.texts, name, "pairs of texts", settings.data.length);
  return set;
}

MatchingSet load_matching_set(const Settings& settings, const Tokenizer& tokenizer, Split split) {
  return encode_matching(
      settings, tokenizer, read_matching(settings.data.directory, split),
      fmt::format("{} ({})", settings.data.directory.string(), to_string(split)));
}

TextModelShape matching_shape(const MatchingSettings& settings) {
  return {.outputs = 1,
          .head = settings.head,
          .head_dropout = settings.head_dropout,
          .pooling = settings.pooling};
}

std::vector<double> matching_scores(const Classifier& classifier, const MatchingSet& set,
                                    const WorkProgress& progress, Processes& processes) {
  return predicted_scores(classifier.predict(set.texts, progress, processes));
}

std::vector<bool> right_answers(const MatchingSet& set, const std::vector<double>& scores) {
  ROFORMER_ASSERT(scores.size() == set.texts.size());
  std::vector<bool> right;
  for (std::size_t i = 0; i < set.source.examples.size(); ++i) {
    right.push_back(set.source.triplets ? scores[2 * i] > scores[2 * i + 1]
                                        : (scores[i] > 0) == set.source.examples[i].matches);
  }
  return right;
}

std::map<std::string, double> matching_figures(const MatchingSettings& settings,
                                               const MatchingSet& set,
                                               const std::vector<double>& scores) {
  const std::vector<bool> right = right_answers(set, scores);
  std::vector<double> targets;
  for (std::int64_t text = 0; text < std::ssize(scores); ++text) {
    targets.push_back(target_of(set, text));
  }
  const double units =
      static_cast<double>(scores.size()) / (settings.loss == MatchingLoss::triplet ? 2 : 1);
  const auto [low, high] = std::ranges::minmax(scores);
  return {
      {"loss",
       matching_loss(settings, at::tensor(scores, at::kDouble), targets).item<double>() / units},
      {"accuracy",
       static_cast<double>(std::ranges::count(right, true)) / static_cast<double>(right.size())},
      {"collapsed", low == high ? 1.0 : 0.0}};
}

nlohmann::json matching_data_record(const Settings& settings) {
  const std::filesystem::path& folder = settings.data.directory;
  const auto fingerprint = [&](Split split) {
    return file_fingerprint(find_matching_file(folder, split));
  };
  nlohmann::json record = {{"name", folder.filename().string()},
                           {"fingerprint", fingerprint(Split::train)},
                           {"training_fingerprint", fingerprint(Split::train)},
                           {"validation_fingerprint", fingerprint(Split::validation)}};
  if (holds_triplets(folder)) record["text_fingerprint"] = triplets_source(folder);
  if (has_matching_split(folder, Split::test)) {
    record["test_fingerprint"] = fingerprint(Split::test);
  }
  return record;
}

OpenedTask open_matching_task(const TaskSources& sources) {
  return open_examples<MatchingTraining>(sources);
}

namespace {

// The last length of each share except the last share.
constexpr std::array<std::int64_t, 4> kLengths = {256, 512, 1024, 1536};

// The length of the longest of an example's texts, in tokens.
std::int64_t longest_of(const MatchingSet& set, std::size_t example) {
  const auto texts = static_cast<std::size_t>(set.source.texts_per_example());
  std::int64_t longest = 0;
  for (std::size_t i = example * texts; i < (example + 1) * texts; ++i) {
    longest = std::max(longest, set.texts[i].longest);
  }
  return longest;
}

std::vector<MatchingShare> shares_by_length(const MatchingSet& set,
                                            const std::vector<bool>& right) {
  std::vector<MatchingShare> shares;
  std::int64_t low = 1;
  for (const std::int64_t high : kLengths) {
    shares.push_back({.name = fmt::format("{} to {} tokens", low, high)});
    low = high + 1;
  }
  shares.push_back({.name = fmt::format("{} tokens and more", low)});
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto bucket = std::ranges::lower_bound(kLengths, longest_of(set, i)) - kLengths.begin();
    MatchingShare& share = shares[static_cast<std::size_t>(bucket)];
    ++share.examples;
    share.right += right[i] ? 1 : 0;
  }
  std::erase_if(shares, [](const MatchingShare& share) { return share.examples == 0; });
  return shares;
}

// The margin by which the model preferred the wrong answer.
double wrong_by(const MatchingSet& set, const std::vector<double>& scores, std::size_t example) {
  if (set.source.triplets) return scores[2 * example + 1] - scores[2 * example];
  return std::abs(scores[example]);
}

}  // namespace

double MatchingShare::accuracy() const {
  return examples == 0 ? 0 : static_cast<double>(right) / static_cast<double>(examples);
}

Interval MatchingShare::interval() const {
  return wilson_interval(right, examples);
}

MatchingEvaluation evaluate_matching(const Classifier& classifier, const MatchingSettings& settings,
                                     const MatchingSet& set, const WorkProgress& progress) {
  MatchingEvaluation result{.scores = matching_scores(classifier, set, progress)};
  result.figures = matching_figures(settings, set, result.scores);
  result.right = right_answers(set, result.scores);
  result.all = {.name = "all",
                .examples = std::ssize(result.right),
                .right = std::ranges::count(result.right, true)};
  result.by_length = shares_by_length(set, result.right);
  result.cut = std::ranges::count(set.texts, true, &EncodedText::cut);
  for (std::size_t i = 0; set.source.triplets && i < set.source.examples.size(); ++i) {
    result.ties += result.scores[2 * i] == result.scores[2 * i + 1];
  }
  return result;
}

std::vector<std::size_t> worst_answers(const MatchingSet& set, const MatchingEvaluation& evaluation,
                                       std::size_t count) {
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < evaluation.right.size(); ++i) {
    if (!evaluation.right[i]) wrong.push_back(i);
  }
  std::ranges::stable_sort(wrong, std::ranges::greater{},
                           [&](std::size_t i) { return wrong_by(set, evaluation.scores, i); });
  wrong.resize(std::min(wrong.size(), count));
  return wrong;
}

nlohmann::ordered_json to_json(const MatchingShare& share) {
  return {{"name", share.name},          {"examples", share.examples},
          {"right", share.right},        {"accuracy", share.accuracy()},
          {"low", share.interval().low}, {"high", share.interval().high}};
}

nlohmann::ordered_json to_json(const MatchingEvaluation& evaluation) {
  nlohmann::ordered_json object = {
      {"figures", evaluation.figures},
      {"accuracy", to_json(evaluation.all)},
      {"standard_error", standard_error(evaluation.all.right, evaluation.all.examples)},
      {"cut", evaluation.cut},
      {"ties", evaluation.ties},
      {"by_length", nlohmann::ordered_json::array()}};
  for (const MatchingShare& share : evaluation.by_length) {
    object["by_length"].push_back(to_json(share));
  }
  return object;
}

}  // namespace roformer
