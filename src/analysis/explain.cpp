#include "analysis/explain.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "config/attention_settings.h"
#include "metrics/statistics.h"
#include "position/one_position.h"

namespace roformer {
namespace {

constexpr double kSameScores = 1e-4;  // of the largest

Attended attend_without(const AttendInputs& in, WithoutPositions what, const at::Tensor& query,
                        const at::Tensor& key, bool with_scores) {
  const OnePosition scheme(in.scheme, what);
  const SchemeCapabilities capabilities = scheme.capabilities();
  const bool biased = capabilities.bias || capabilities.bias_of_positions;
  return attend({.query = query,
                 .key = key,
                 .value = in.value,
                 .scheme = scheme,
                 .attention = in.attention,
                 .context = in.context,
                 .bias = biased ? scheme.bias(in.context) : at::Tensor()},
                with_scores);
}

// Whether the scores stay the same if all tokens are at one position.
bool counts_by_content(const AttendInputs& in) {
  if (in.scheme.capabilities().scores == ContentScores::none) return false;
  const auto scores = [&](WithoutPositions what) {
    return attend_without(in, what, in.query, in.key, /*with_scores=*/true).scores;
  };
  at::Tensor there = scores(WithoutPositions::as_they_stand);
  at::Tensor moved = scores(WithoutPositions::one_position);
  if (in.context.mask.defined()) {
    const at::Tensor hidden = in.context.mask.logical_not();
    there = there.masked_fill(hidden, 0);
    moved = moved.masked_fill(hidden, 0);
  }
  return (there - moved).abs().max().item<double>() <=
         kSameScores * there.abs().max().item<double>();
}

// The heads that lose their positions. Without a number, all heads of the layer or of the model.
struct AblatedPart {
  std::optional<std::int64_t> layer, head;
};

// Attention without positions in the heads of a part, as position/one_position.h defines it. If the
// scheme adds something to the embedding, queries and keys also lose their means at each position.
// A scheme with content terms counts positions by the content. If this ablation does not change its
// scores, its heads keep only q.k.
class PositionAblation : public AttentionObserver {
 public:
  // `means` of all layers. If it is empty, nothing is subtracted from queries and keys.
  PositionAblation(const AblatedPart& part, std::span<const PositionMeans> means)
      : part_(part), means_(means) {}

  bool wants(std::int64_t layer) const override { return !part_.layer || *part_.layer == layer; }
  at::Tensor attend(const AttendInputs& in, const at::Tensor&) override {
    const auto without = [&](const at::Tensor& x, const at::Tensor PositionMeans::*which) {
      if (means_.empty()) return x;
      const at::Tensor& means = means_[static_cast<std::size_t>(in.context.layer)].*which;
      return x - means.narrow(1, 0, x.size(2)).to(x.scalar_type());
    };
    const auto what =
        counts_by_content(in) ? WithoutPositions::plain_products : WithoutPositions::one_position;
    const at::Tensor off = attend_without(in, what, without(in.query, &PositionMeans::query),
                                          without(in.key, &PositionMeans::key), false)
                               .output;
    if (!part_.head) return off;
    at::Tensor output = roformer::attend(in).output.clone();
    output.select(1, *part_.head).copy_(off.select(1, *part_.head));
    return output;
  }

 private:
  AblatedPart part_;
  std::span<const PositionMeans> means_;
};

// The effect of the ablation on each hook of the scheme, in words. Empty if the scheme has no
// positions.
std::vector<std::string> ablation_in_words(const PositionScheme& scheme, bool adds_to_embedding,
                                           bool rotates) {
  const SchemeCapabilities capabilities = scheme.capabilities();
  std::vector<std::string> lines;
  if (adds_to_embedding) {
    lines.push_back(
        "queries and keys lose their mean over the texts at each position (less the mean over "
        "positions), which is what the table leaves in them");
  }
  if (capabilities.transform || capabilities.scores != ContentScores::none) {
    lines.push_back(
        "rotations and terms of content and position are those of query and key at one position; "
        "where that changes no score, because positions are counted by the content, q.k is all "
        "that is left");
  } else if (rotates) {
    lines.push_back("queries and keys are rotated as at one position: no relative rotation");
  }
  if (capabilities.bias || capabilities.bias_of_positions) {
    lines.push_back(
        "every pair gets the bias of distance 0: a constant, as its mean or zero would be, which "
        "does not change the softmax");
  }
  if (capabilities.running_sums) lines.push_back("the sums of the gates' logarithms are left out");
  if (capabilities.weights)
    lines.push_back("a softmax takes the place of the scheme's own weights");
  if (capabilities.value_term) {
    lines.push_back("what is added to the values is that of distance 0");
  }
  return lines;
}

LossChange loss_change(const RowLosses& first, const RowLosses& second) {
  ROFORMER_ASSERT(first.targets == second.targets);
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.sums.size(); ++i) {
    differences.push_back(second.sums[i] - first.sums[i]);
  }
  const ClusteredMean mean = clustered_mean(differences, first.targets);
  LossChange change{.change = mean.mean, .standard_error = mean.standard_error, .reach = NAN};
  if (mean.clusters > 1) {
    const double degrees = static_cast<double>(mean.clusters - 1);
    change.reach = student_quantile(0.975, degrees) * mean.standard_error;
  }
  return change;
}

// A group's shares are unbiased even with few contents. Their errors come from the differences
// between groups, so there must be many groups.
constexpr std::int64_t kLeastContents = 4, kMostContents = 8;  // of a group
constexpr std::int64_t kScoreNumbers = 1 << 23;      // of one query's content with a group's keys
constexpr std::int64_t kFewest = 128, kMost = 1024;  // contents in all

std::int64_t layers_of(const ExplainedStack& stack) {
  return stack.stack->settings().model.layers;
}

std::int64_t heads_of(const ExplainedStack& stack) {
  return stack.stack->settings().model.heads;
}

// The number of contents to draw from a stack: about that of the texts, within these bounds, in
// groups whose scores of all pairs fit into memory.
struct ContentGroups {
  std::int64_t contents = 0, groups = 0;

  ContentGroups(const ExplainedStack& stack, std::int64_t texts)
      : contents(std::clamp(kScoreNumbers / (heads_of(stack) * stack.longest * stack.longest),
                            kLeastContents, kMostContents)),
        groups(std::clamp(texts, kFewest, kMost) / contents) {}
};

// One stack while it is explained.
struct StackAnalysis {
  const ExplainedStack& stack;
  ContentGroups groups;
  AttentionRecorder recorder;
  std::vector<PositionMeans> means;  // of its layers; empty: nothing is added to the embedding
  bool adds_to_embedding = false;
  std::vector<std::string> ablation;  // the parts that are switched off, in words

  StackAnalysis(const ExplainedStack& of, const ExplainedTexts& texts, std::uint64_t seed)
      : stack(of),
        groups(of, texts.sequences),
        recorder({.layers = layers_of(of),
                  .length = of.longest,
                  .tokens = of.tokens,
                  .contents = groups.contents * groups.groups,
                  .frequency_sequences = texts.frequency_sequences,
                  .same_tokens = of.same_tokens,
                  .seed = seed}) {}
};

std::vector<HeadExplanation> explain_scores(const LayerRecord& record, const ExplainedLayer& layer,
                                            std::int64_t groups) {
  const std::vector<ScoreShares> shares = score_shares({.scheme = *record.scheme,
                                                        .attention = *record.attention,
                                                        .context = *record.context,
                                                        .query = record.query,
                                                        .key = record.key,
                                                        .key_token_inputs = record.key_token_inputs,
                                                        .query_positions = record.positions.query,
                                                        .key_positions = record.positions.key,
                                                        .groups = groups});
  std::vector<HeadExplanation> heads;
  for (std::size_t h = 0; h < shares.size(); ++h) {
    heads.push_back({.layer = layer, .head = static_cast<std::int64_t>(h), .shares = shares[h]});
  }
  return heads;
}

class Explainer {
 public:
  Explainer(const ExplainedTexts& texts, std::uint64_t seed, bool ablations)
      : texts_(texts),
        ablations_(ablations),
        bar_("explaining", passes(texts, ablations), "passes") {
    for (const ExplainedStack& stack : texts.stacks) {
      analyses_.push_back(std::make_unique<StackAnalysis>(stack, texts, seed));
    }
  }

  Explanation explain() {
    Explanation result{
        .texts = texts_.in_words, .sequences = texts_.sequences, .length = texts_.longest};
    measure_loss(result);
    for (auto& one : analyses_) add_layers(*one, result);
    if (ablations_) {
      add_words(result);
      if (result.ablation.empty()) {
        result.ablation.push_back("it has no positions to switch off");
      } else {
        ablate(result);
      }
    }
    bar_.finish(done_);
    return result;
  }

 private:
  const ExplainedTexts& texts_;
  bool ablations_;
  std::vector<std::unique_ptr<StackAnalysis>> analyses_;
  RowLosses losses_;
  ProgressBar bar_;
  std::uint64_t done_ = 0;

  static bool has_several(const ExplainedTexts& texts) { return texts.stacks.size() > 1; }

  // One pass for the recording, one for the scores of each layer, one for each ablation.
  static std::uint64_t passes(const ExplainedTexts& texts, bool ablations) {
    std::int64_t count = 1;
    for (const ExplainedStack& stack : texts.stacks) {
      count += layers_of(stack);
      if (ablations) count += layers_of(stack) * (heads_of(stack) + 1) + has_several(texts);
    }
    return static_cast<std::uint64_t>(count + ablations);
  }

  void step() { bar_.advance_to(++done_); }

  void measure_loss(Explanation& result) {
    std::vector<AttentionObserver*> recorders;
    for (auto& one : analyses_) recorders.push_back(&one->recorder);
    losses_ = texts_.losses(recorders);
    result.targets =
        std::accumulate(losses_.targets.begin(), losses_.targets.end(), std::int64_t{0});
    if (result.targets == 0) {
      throw_failure(texts_.folder, fmt::format("{} have no target to predict", texts_.in_words),
                    "more --sequences");
    }
    const ClusteredMean loss = clustered_mean(losses_.sums, losses_.targets);
    result.loss = loss.mean;
    result.standard_error = loss.standard_error;
    step();
  }

  void add_layers(StackAnalysis& one, Explanation& result) {
    std::vector<const PositionScheme*> schemes;
    std::set<const PositionScheme*> rotating;
    for (std::int64_t i = 0; i < layers_of(one.stack); ++i) {
      const LayerRecord record = one.recorder.layer(i);
      const ExplainedLayer layer{.stack = one.stack.name, .number = i};
      result.layers.push_back({.layer = layer,
                               .masses = record.masses,
                               .frequencies = record.frequencies,
                               .heads = explain_scores(record, layer, one.groups.groups)});
      one.means.push_back(record.positions);
      schemes.push_back(record.scheme);
      if (record.frequencies) rotating.insert(record.scheme);
      step();
    }
    const PositionScheme& scheme = one.stack.stack->scheme();
    one.adds_to_embedding =
        scheme.capabilities().draws_positions
            ? scheme.embedding_at(one.recorder.layer(0).context->drawn_positions).defined()
            : scheme.embedding(Positions::range(0, 1)).defined();
    if (!one.adds_to_embedding) one.means.clear();
    for (const PositionScheme* each : schemes) {
      const bool rotates = rotating.contains(each);
      for (const std::string& line : ablation_in_words(*each, one.adds_to_embedding, rotates)) {
        if (std::ranges::find(one.ablation, line) == one.ablation.end()) {
          one.ablation.push_back(line);
        }
      }
    }
  }

  // A line about one stack names the stack.
  void add_words(Explanation& result) const {
    for (const auto& one : analyses_) {
      for (const std::string& line : one->ablation) {
        const bool of_all = std::ranges::all_of(analyses_, [&](const auto& other) {
          return std::ranges::find(other->ablation, line) != other->ablation.end();
        });
        std::string text = of_all ? line : fmt::format("in the {}: {}", one->stack.name, line);
        if (std::ranges::find(result.ablation, text) == result.ablation.end()) {
          result.ablation.push_back(std::move(text));
        }
      }
    }
  }

  // The change of the loss without these parts. A stack without a part stays unchanged.
  LossChange without(const std::vector<std::optional<AblatedPart>>& parts) {
    std::vector<std::unique_ptr<PositionAblation>> ablations;
    std::vector<AttentionObserver*> observers;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      ablations.push_back(
          parts[i] ? std::make_unique<PositionAblation>(*parts[i], analyses_[i]->means) : nullptr);
      observers.push_back(ablations.back().get());
    }
    const LossChange change = loss_change(losses_, texts_.losses(observers));
    step();
    return change;
  }
  LossChange without(std::size_t stack, const AblatedPart& part) {
    std::vector<std::optional<AblatedPart>> parts(texts_.stacks.size());
    parts[stack] = part;
    return without(parts);
  }

  void ablate(Explanation& result) {
    result.ablated = true;
    result.without_positions =
        without(std::vector<std::optional<AblatedPart>>(texts_.stacks.size(), AblatedPart{}));
    std::size_t at = 0;
    for (std::size_t s = 0; s < texts_.stacks.size(); ++s) {
      const ExplainedStack& stack = texts_.stacks[s];
      if (has_several(texts_)) {
        result.stacks.push_back({.stack = stack.name, .without_positions = without(s, {})});
      }
      for (std::int64_t i = 0; i < layers_of(stack); ++i) {
        LayerExplanation& entry = result.layers[at++];
        entry.without_positions = without(s, {.layer = i});
        for (HeadExplanation& head : entry.heads) {
          head.without_positions = without(s, {.layer = i, .head = head.head});
        }
      }
    }
  }
};

}  // namespace

void require_explainable(const Settings& settings, const std::string& run) {
  if (!uses_linear_attention(settings.attention)) return;
  throw_usage(run, "linear attention makes no scores that could be explained",
              "a run whose attention.kernel is softmax in all layers");
}

std::string ExplainedLayer::name() const {
  return stack.empty() ? std::to_string(number) : fmt::format("{} {}", stack, number);
}

std::string ExplainedLayer::title() const {
  return stack.empty() ? fmt::format("layer {}", number)
                       : fmt::format("{} layer {}", stack, number);
}

Explanation explain(const TrainedModel& model, const Dataset& dataset,
                    const ExplainOptions& options) {
  const c10::AutoGradMode no_gradient(false);
  require_explainable(model.settings, model.checkpoint.string());
  const ExplainedTexts texts = rows_of_text(model, dataset, options);
  return Explainer(texts, model.settings.seed, options.ablations).explain();
}

Explanation explain(const TrainedTranslator& translator, const ParallelDataset& dataset,
                    const ExplainOptions& options) {
  const c10::AutoGradMode no_gradient(false);
  require_explainable(translator.settings, translator.checkpoint.string());
  const ExplainedTexts texts = sentence_pairs(translator, dataset, options);
  return Explainer(texts, translator.settings.seed, options.ablations).explain();
}

}  // namespace roformer
