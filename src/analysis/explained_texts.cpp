#include "analysis/explain.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "data/length_batches.h"
#include "tasks/language/language_batches.h"
#include "tasks/translation/translator.h"
#include "tasks/untrained.h"

namespace roformer {
namespace {

constexpr std::int64_t kTokensAtATime = 2048;  // whose scores are in memory

// Finds the positions where all texts hold the same token.
class SameTokens {
 public:
  explicit SameTokens(std::int64_t longest)
      : first_(static_cast<std::size_t>(longest), -1), same_(first_.size(), true) {}

  void add(const at::Tensor& batch, const TokenLayout& layout) {
    const at::Tensor ids = batch.contiguous();
    const std::int64_t* const values = ids.const_data_ptr<std::int64_t>();
    for (const TokenBlock& block : layout.blocks) {
      for (std::int64_t i = 0; i < block.sequences * block.length; ++i) {
        const auto position = static_cast<std::size_t>(i % block.length);
        const std::int64_t id = values[block.begin + i];
        if (first_[position] < 0) first_[position] = id;
        if (first_[position] != id) same_[position] = false;
      }
    }
  }

  std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < same_.size(); ++i) {
      if (same_[i]) result.push_back(static_cast<std::int64_t>(i));
    }
    return result;
  }

 private:
  std::vector<std::int64_t> first_;
  std::vector<bool> same_;
};

// One stack's part of the batches; `ids` and `layout` are their members for it.
template <typename Batch, typename Ids, typename Layout>
ExplainedStack explained_stack(std::string name, const TransformerStack& stack,
                               const std::vector<Batch>& batches, Ids ids, Layout layout) {
  ExplainedStack result{.name = std::move(name), .stack = &stack};
  for (const Batch& batch : batches) {
    result.tokens += (batch.*ids).numel();
    result.longest = std::max(result.longest, (batch.*layout).longest);
  }
  SameTokens same(result.longest);
  for (const Batch& batch : batches) same.add(batch.*ids, batch.*layout);
  result.same_tokens = same.positions();
  return result;
}

AttentionObserver* observer_of(std::span<AttentionObserver* const> observers, std::size_t stack) {
  return stack < observers.size() ? observers[stack] : nullptr;
}

// Sums of losses, one for each text, in order.
class LossesOfTexts {
 public:
  void begin(std::int64_t texts) {
    first_ = result_.sums.size();
    result_.sums.resize(first_ + static_cast<std::size_t>(texts));
    result_.targets.resize(result_.sums.size());
  }
  // Adds a target's loss to the text with this number since begin().
  void add(std::int64_t text, double loss) {
    const std::size_t i = first_ + static_cast<std::size_t>(text);
    result_.sums[i] += loss;
    ++result_.targets[i];
  }
  RowLosses result() && { return std::move(result_); }

 private:
  RowLosses result_;
  std::size_t first_ = 0;
};

std::vector<LanguageBatch> read_rows(const TrainedModel& model, const Dataset& dataset,
                                     const ExplainOptions& options, std::int64_t length) {
  const auto batches =
      make_language_batches(model.settings, {{dataset}},
                            {.split = options.split,
                             .length = length,
                             .batches = {.rows = std::max<std::int64_t>(1, kTokensAtATime / length),
                                         .cross_documents = model.settings.data.cross_documents}});
  const std::int64_t limit = options.sequences * length;
  const Arrangement arrangement = arrange(length, {});
  std::vector<LanguageBatch> result;
  for (std::int64_t n = 0; n < batches->validation_batches(limit); ++n) {
    result.push_back(batches->validation(n, limit, arrangement));
  }
  return result;
}

RowLosses losses_of_rows(const LanguageModel& model, std::span<const LanguageBatch> batches,
                         std::int64_t length, AttentionObserver* observer) {
  const c10::AutoGradMode no_gradient(false);
  LossesOfTexts result;
  for (const LanguageBatch& batch : batches) {
    result.begin(batch.ids.numel() / length);
    if (batch.labels.numel() == 0) continue;
    const CrossEntropy loss =
        model.loss(to_device(batch, model.plan().device), {.training = false}, {}, observer);
    const at::Tensor losses = loss.losses.to(at::kCPU, at::kDouble).contiguous();
    for (std::int64_t i = 0; i < losses.numel(); ++i) {
      const std::int64_t position = batch.target_positions.defined()
                                        ? batch.target_positions.const_data_ptr<std::int64_t>()[i]
                                        : i;
      result.add(position / length, losses.const_data_ptr<double>()[i]);
    }
  }
  return std::move(result).result();
}

// Pairs that a training batch could contain, spread evenly over the split.
std::vector<std::int64_t> chosen_pairs(const TrainedTranslator& trained,
                                       const ParallelDataset& dataset, Split split,
                                       std::int64_t count) {
  const auto fits = [&](Side side, std::int64_t i, std::int64_t positions) {
    const std::int64_t most = trained.settings.data.length;
    return dataset.length(split, side, i) <= (positions > 0 ? std::min(most, positions) : most);
  };
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < dataset.sentences(split); ++i) {
    if (fits(Side::source, i, trained.model->longest_source()) &&
        fits(Side::target, i, trained.model->longest_target())) {
      all.push_back(i);
    }
  }
  std::vector<std::int64_t> chosen;
  const std::int64_t wanted = std::min(count, std::ssize(all));
  for (std::int64_t k = 0; k < wanted; ++k) {
    chosen.push_back(all[static_cast<std::size_t>(k * std::ssize(all) / wanted)]);
  }
  return chosen;
}

std::vector<TranslationBatch> read_pairs(const ParallelDataset& dataset, Split split,
                                         const std::vector<std::int64_t>& pairs) {
  std::vector<TranslationBatch> result;
  std::vector<std::int64_t> group;
  std::int64_t tokens = 0;
  const auto finish = [&] {
    // Neighbours of the same length are computed together.
    std::ranges::sort(group, {}, [&](std::int64_t pair) {
      return std::pair(dataset.length(split, Side::source, pair),
                       dataset.length(split, Side::target, pair));
    });
    if (!group.empty()) result.push_back(to_tensors(make_parallel_batch(dataset, split, group)));
    group.clear();
    tokens = 0;
  };
  for (const std::int64_t pair : pairs) {
    const std::int64_t more = std::max(dataset.length(split, Side::source, pair),
                                       dataset.length(split, Side::target, pair));
    if (tokens + more > kTokensAtATime) finish();
    group.push_back(pair);
    tokens += more;
  }
  finish();
  return result;
}

RowLosses losses_of_pairs(const Translator& translator, std::span<const TranslationBatch> batches,
                          const StackObservers& observers) {
  const c10::AutoGradMode no_gradient(false);
  LossesOfTexts result;
  for (const TranslationBatch& batch : batches) {
    std::int64_t texts = 0;
    for (const TokenBlock& block : batch.target.blocks) texts += block.sequences;
    result.begin(texts);
    const CrossEntropy loss =
        translator.loss(to_device(batch, translator.plan().device), {.training = false},
                        /*label_smoothing=*/0, observers);
    const at::Tensor losses = loss.losses.to(at::kCPU, at::kDouble).contiguous();
    std::int64_t text = 0;
    for (const TokenBlock& block : batch.target.blocks) {
      for (std::int64_t i = 0; i < block.sequences * block.length; ++i) {
        result.add(text + i / block.length, losses.const_data_ptr<double>()[block.begin + i]);
      }
      text += block.sequences;
    }
  }
  return std::move(result).result();
}

}  // namespace

ExplainedTexts rows_of_text(const TrainedModel& trained, const Dataset& dataset,
                            const ExplainOptions& options) {
  const std::int64_t length = options.length > 0 ? options.length : trained.settings.data.length;
  require_positions(trained.settings, "--length", length);
  dataset.require(options.split);
  const LanguageModel& model = *trained.model;
  std::vector<LanguageBatch> batches = read_rows(trained, dataset, options, length);
  ExplainedTexts result{
      .longest = length, .folder = dataset.folder().string(), .frequency_sequences = 8};
  result.stacks.push_back(
      explained_stack("", model.encoder(), batches, &LanguageBatch::ids, &LanguageBatch::layout));
  result.sequences = result.stacks.front().tokens / length;
  result.in_words =
      fmt::format("{} rows of {} tokens", format_count(result.sequences), format_count(length));
  result.losses = [&model, length, batches = std::move(batches)](auto observers) {
    return losses_of_rows(model, batches, length, observer_of(observers, 0));
  };
  return result;
}

ExplainedTexts sentence_pairs(const TrainedTranslator& trained, const ParallelDataset& dataset,
                              const ExplainOptions& options) {
  const Split split = options.split;
  dataset.require_sentences(split);
  const std::vector<std::int64_t> pairs = chosen_pairs(trained, dataset, split, options.sequences);
  if (pairs.empty()) {
    throw_failure(dataset.folder().string(),
                  fmt::format("no pair of the {} set fits the model: both sides within {} tokens "
                              "(data.length) and within its positions",
                              to_string(options.split), trained.settings.data.length),
                  "another --split, or --data");
  }
  const Translator& translator = *trained.model;
  std::vector<TranslationBatch> batches = read_pairs(dataset, split, pairs);
  const ExplainedStack encoder =
      explained_stack("encoder", translator.model().encoder(), batches,
                      &TranslationBatch::source_ids, &TranslationBatch::source);
  const ExplainedStack decoder =
      explained_stack("decoder", translator.model().decoder(), batches,
                      &TranslationBatch::target_ids, &TranslationBatch::target);
  ExplainedTexts result{.stacks = {encoder, decoder},
                        .sequences = std::ssize(pairs),
                        .longest = std::max(encoder.longest, decoder.longest),
                        .folder = dataset.folder().string(),
                        .frequency_sequences = 64};
  result.in_words =
      fmt::format("{} pairs of sentences ({} tokens and {})", format_count(result.sequences),
                  format_count(encoder.tokens), format_count(decoder.tokens));
  result.losses = [&translator, batches = std::move(batches)](auto observers) {
    return losses_of_pairs(
        translator, batches,
        {.encoder = observer_of(observers, 0), .decoder = observer_of(observers, 1)});
  };
  return result;
}

}  // namespace roformer
