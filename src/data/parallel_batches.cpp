#include "data/parallel_batches.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"

namespace roformer {

struct ParallelBatches::Selection {
  std::vector<std::int32_t> kept;
  std::vector<PairLength> lengths;
};

ParallelBatches::ParallelBatches(const ParallelDataset& dataset, Split split,
                                 const ParallelBatchOptions& options)
    : ParallelBatches(dataset, split, options, [&] {
        const std::vector<std::int32_t> sources = dataset.lengths(split, Side::source);
        const std::vector<std::int32_t> targets = dataset.lengths(split, Side::target);
        Selection selection;
        for (std::size_t i = 0; i < sources.size(); ++i) {
          if (options.longest_source > 0 && sources[i] > options.longest_source) continue;
          if (options.longest_target > 0 && targets[i] > options.longest_target) continue;
          selection.kept.push_back(static_cast<std::int32_t>(i));
          selection.lengths.push_back({.source = sources[i], .target = targets[i]});
        }
        return selection;
      }()) {}

ParallelBatches::ParallelBatches(const ParallelDataset& dataset, Split split,
                                 const ParallelBatchOptions& options, Selection selection)
    : dataset_(dataset),
      split_(split),
      target_tokens_(sentence_tokens(dataset.tokenizer(Side::target))),
      kept_(std::move(selection.kept)),
      left_out_(dataset.sentences(split) - static_cast<std::int64_t>(kept_.size())),
      dealing_(std::move(selection.lengths), {.tokens = options.tokens,
                                              .sentences = options.sentences,
                                              .seed = options.seed,
                                              .shuffle = options.shuffle}) {
  if (!kept_.empty()) return;
  throw_failure(dataset.folder().string(),
                left_out_ == 0
                    ? fmt::format("has no {} set", to_string(split))
                    : fmt::format("all {} pairs of the {} set are longer than {} and {} tokens",
                                  format_count(left_out_), to_string(split), options.longest_source,
                                  options.longest_target),
                left_out_ == 0 ? "prepare the data with one: roformer data prepare"
                               : "allow longer sentences");
}

ParallelBatch ParallelBatches::operator[](std::int64_t n) const {
  std::vector<std::int64_t> sentences = dealing_[n];
  for (std::int64_t& sentence : sentences) sentence = kept_[static_cast<std::size_t>(sentence)];
  return make_parallel_batch(dataset_, split_, sentences);
}

ParallelBatch make_parallel_batch(const ParallelDataset& dataset, Split split,
                                  const std::vector<std::int64_t>& sentences) {
  const TokenId begin = sentence_tokens(dataset.tokenizer(Side::target)).begin;
  ParallelBatch batch{.sentences = sentences,
                      .source_ids = {},
                      .source_starts = {0},
                      .target_ids = {},
                      .labels = {},
                      .target_starts = {0}};
  for (const std::int64_t sentence : sentences) {
    const std::vector<TokenId> source = dataset.sentence(split, Side::source, sentence);
    const std::vector<TokenId> target = dataset.sentence(split, Side::target, sentence);
    batch.source_ids.insert(batch.source_ids.end(), source.begin(), source.end());
    batch.target_ids.push_back(begin);
    batch.target_ids.insert(batch.target_ids.end(), target.begin(), target.end() - 1);
    batch.labels.insert(batch.labels.end(), target.begin(), target.end());
    batch.source_starts.push_back(static_cast<std::int64_t>(batch.source_ids.size()));
    batch.target_starts.push_back(static_cast<std::int64_t>(batch.labels.size()));
  }
  return batch;
}

}  // namespace roformer
