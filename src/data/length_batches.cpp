#include "data/length_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/progress.h"
#include "base/random.h"

namespace roformer {
namespace {

// More rounds do not mix better, but make the strata wider than necessary.
constexpr double kMostRounds = 64;

}  // namespace

LengthBuckets::LengthBuckets(std::vector<std::int32_t> lengths, BucketOptions options)
    : lengths_(std::move(lengths)), options_(options), sorted_(lengths_.size()) {
  ROFORMER_ASSERT((options.sequences > 0) != (options.tokens > 0) && options.bucket_width > 0);
  const auto bucket = [&](std::int64_t sequence) {
    const std::int32_t length = lengths_[static_cast<std::size_t>(sequence)];
    ROFORMER_ASSERT(length > 0);
    return (length - 1) / options_.bucket_width;
  };
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::ranges::stable_sort(sorted_, {}, bucket);

  std::int64_t batch_begin = 0;
  std::int32_t bucket_longest = 0;
  const auto count = static_cast<std::int64_t>(sorted_.size());
  // The longest sequence of each bucket counts, not the longest in an epoch, so the cuts are the
  // same in every epoch.
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = begin;
    bucket_longest = 0;
    while (end < count && bucket(sorted_[static_cast<std::size_t>(end)]) ==
                              bucket(sorted_[static_cast<std::size_t>(begin)])) {
      const auto sequence = static_cast<std::size_t>(sorted_[static_cast<std::size_t>(end)]);
      bucket_longest = std::max(bucket_longest, lengths_[sequence]);
      ++end;
    }
    buckets_.push_back(begin);
    for (std::int64_t index = begin; index < end; ++index) {
      const std::int64_t members = index - batch_begin;
      const bool full = options_.sequences > 0 ? members == options_.sequences
                                               : (members + 1) * bucket_longest > options_.tokens;
      if (cuts_.empty() || (full && members > 0)) {
        cuts_.push_back(index);
        batch_begin = index;
      }
    }
    begin = end;
  }
  buckets_.push_back(count);
  cuts_.push_back(count);
}

BucketBatch LengthBuckets::operator[](std::int64_t n) const {
  ROFORMER_ASSERT(n >= 0 && batches_per_epoch() > 0);
  const auto epoch = static_cast<std::uint64_t>(n / batches_per_epoch());
  auto number = static_cast<std::uint64_t>(n % batches_per_epoch());
  const auto key = [&](std::string_view what, std::uint64_t which) {
    return random_key({options_.seed, random_word(what), epoch, which});
  };
  if (options_.shuffle) {
    const auto count = static_cast<std::uint64_t>(batches_per_epoch());
    number = Permutation(count, key("batch order", 0))[number];
  }
  BucketBatch batch;
  std::int64_t longest = 0;
  for (std::int64_t index = cuts_[number]; index < cuts_[number + 1]; ++index) {
    const auto after = std::ranges::upper_bound(buckets_, index);
    const std::int64_t begin = *(after - 1);
    std::int64_t chosen = index;
    if (options_.shuffle) {
      const Permutation permutation(static_cast<std::uint64_t>(*after - begin),
                                    key("bucket", static_cast<std::uint64_t>(begin)));
      chosen =
          begin + static_cast<std::int64_t>(permutation[static_cast<std::uint64_t>(index - begin)]);
    }
    const std::int64_t sequence = sorted_[static_cast<std::size_t>(chosen)];
    const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
    batch.sequences.push_back(sequence);
    batch.tokens += length;
    longest = std::max(longest, length);
  }
  batch.padding = longest * static_cast<std::int64_t>(batch.sequences.size()) - batch.tokens;
  return batch;
}

PairDealing::PairDealing(std::vector<PairLength> lengths, DealingOptions options)
    : lengths_(std::move(lengths)), options_(options), sorted_(lengths_.size()) {
  ROFORMER_ASSERT(options.tokens > 0 && options.sentences >= 0);
  ROFORMER_ASSERT(lengths_.size() <= std::numeric_limits<std::int32_t>::max());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::ranges::stable_sort(sorted_, {}, [&](std::int32_t pair) {
    const PairLength& length = lengths_[static_cast<std::size_t>(pair)];
    ROFORMER_ASSERT(length.source > 0 && length.target > 0);
    return std::pair(length.source, length.target);
  });
  cut(1);
  if (!options.shuffle || batches_per_round() < 2) return;
  // The number of rounds equals the number of batches in a round, so that pairs mix between rounds
  // as well as lengths mix between batches.
  const double batches = static_cast<double>(batches_per_round());
  cut(static_cast<std::int64_t>(std::min(kMostRounds, std::round(std::sqrt(batches)))));
  // The first stratum is smaller: a batch of only that stratum would be empty in some rounds.
  if (static_cast<std::int64_t>(sorted_.size()) % rounds_ != 0 && cuts_[1] == 1) cut(1);
}

std::int64_t PairDealing::strata() const {
  return (static_cast<std::int64_t>(sorted_.size()) + rounds_ - 1) / rounds_;
}

std::pair<std::int64_t, std::int64_t> PairDealing::range(std::int64_t stratum) const {
  const auto count = static_cast<std::int64_t>(sorted_.size());
  const std::int64_t missing = strata() * rounds_ - count;  // of the first stratum
  return {std::max<std::int64_t>(0, stratum * rounds_ - missing),
          (stratum + 1) * rounds_ - missing};
}

void PairDealing::cut(std::int64_t rounds) {
  rounds_ = rounds;
  cuts_ = {0};
  std::int64_t source = 0;
  std::int64_t target = 0;
  for (std::int64_t stratum = 0; stratum < strata(); ++stratum) {
    PairLength longest;
    const auto [begin, end] = range(stratum);
    for (std::int64_t index = begin; index < end; ++index) {
      const auto pair = static_cast<std::size_t>(sorted_[static_cast<std::size_t>(index)]);
      longest.source = std::max(longest.source, lengths_[pair].source);
      longest.target = std::max(longest.target, lengths_[pair].target);
    }
    source += longest.source;
    target += longest.target;
    const std::int64_t members = stratum - cuts_.back();
    const bool full = source > options_.tokens || target > options_.tokens ||
                      (options_.sentences > 0 && members == options_.sentences);
    if (!full || members == 0) continue;
    cuts_.push_back(stratum);
    source = longest.source;
    target = longest.target;
  }
  if (strata() > 0) cuts_.push_back(strata());
}

std::vector<std::int64_t> PairDealing::operator[](std::int64_t n) const {
  ROFORMER_ASSERT(n >= 0 && batches_per_epoch() > 0);
  const auto per_epoch = static_cast<std::uint64_t>(batches_per_epoch());
  const auto epoch = static_cast<std::uint64_t>(n) / per_epoch;
  auto number = static_cast<std::uint64_t>(n) % per_epoch;
  const auto key = [&](std::string_view what, std::uint64_t which) {
    return random_key({options_.seed, random_word(what), epoch, which});
  };
  if (options_.shuffle) number = Permutation(per_epoch, key("pair batches", 0))[number];
  const auto batch = static_cast<std::size_t>(number) / static_cast<std::size_t>(rounds_);
  const std::uint64_t round = number % static_cast<std::uint64_t>(rounds_);

  std::vector<std::int64_t> pairs;
  for (std::int64_t stratum = cuts_[batch]; stratum < cuts_[batch + 1]; ++stratum) {
    const auto [begin, end] = range(stratum);
    std::int64_t index = begin;
    if (rounds_ > 1) {
      const Permutation deal(static_cast<std::uint64_t>(rounds_),
                             key("stratum", static_cast<std::uint64_t>(stratum)));
      index = begin + static_cast<std::int64_t>(deal[round]);
    }
    if (index < end) pairs.push_back(sorted_[static_cast<std::size_t>(index)]);
  }
  ROFORMER_ASSERT(!pairs.empty());
  return pairs;
}

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
