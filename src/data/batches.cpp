#include "data/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/progress.h"

namespace roformer {
namespace {

// The limit exceeds the number of pieces of any word in a text with spaces. A longer run is no word
// (base pairs, a page in a script without spaces). Masking all of it at once would take half a row
// or nothing.
constexpr std::size_t kMostPiecesOfWord = 32;

// Whole numbers above 0 that sum to the pattern and are as near as possible to their weights'
// shares of it.
std::vector<std::int64_t> shares_of(const std::vector<double>& weights, std::int64_t pattern) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> shares;
  for (const double weight : weights) {
    const double exact = weight / sum * static_cast<double>(pattern);
    shares.push_back(std::max<std::int64_t>(1, static_cast<std::int64_t>(exact)));
  }
  const auto lacking = [&](std::size_t i) {
    return weights[i] / sum * static_cast<double>(pattern) - static_cast<double>(shares[i]);
  };
  std::int64_t left = pattern - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  for (; left != 0; left -= left > 0 ? 1 : -1) {
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < shares.size(); ++i) {
      if (left > 0 ? lacking(i) > lacking(chosen)
                   : shares[chosen] == 1 || (shares[i] > 1 && lacking(i) < lacking(chosen))) {
        chosen = i;
      }
    }
    shares[chosen] += left > 0 ? 1 : -1;
  }
  return shares;
}

// Validation masks do not depend on the run's seed.
constexpr std::uint64_t kValidationSeed = 0x76616c6964617465;

void require_a_row(const Rows& rows, const Dataset& dataset, Split split) {
  if (rows.size() > 0) return;
  throw_failure(
      dataset.folder().string(),
      fmt::format(
          "the {} set has {} tokens, too few to fill one row of {}", to_string(split),
          format_count(static_cast<std::int64_t>(dataset.description()[split].counts.tokens)),
          rows.length()),
      split == Split::train
          ? "choose a smaller length or prepare more text"
          : fmt::format("choose a smaller length, or prepare the data with a larger "
                        "--{}-fraction",
                        to_string(split)));
}

// Appends the row's ids and the positions where sequences begin in it.
void append_row(const Row& row, std::int64_t length, bool cross_documents, TokenBatch& batch) {
  const auto begin = static_cast<std::int64_t>(batch.ids.size());
  batch.ids.insert(batch.ids.end(), row.ids.begin(), row.ids.begin() + length);
  if (batch.sequence_starts.empty()) batch.sequence_starts.push_back(0);
  if (!cross_documents) {
    for (const std::int32_t start : row.document_starts) {
      if (start > 0 && start < length) batch.sequence_starts.push_back(begin + start);
    }
  }
  batch.sequence_starts.push_back(begin + length);
  batch.length = length;
  ++batch.rows;
}

std::int64_t rows_within(std::int64_t token_limit, const Rows& rows) {
  if (token_limit <= 0) return rows.size();
  return std::min(rows.size(), std::max<std::int64_t>(1, token_limit / rows.length()));
}

// The index of a row, if a pass takes `count` of `size` rows spread evenly over all of them. The
// beginning of a split is not typical of its text.
std::int64_t spread(std::int64_t index, std::int64_t count, std::int64_t size) {
  return (2 * index + 1) * size / (2 * count);
}

std::vector<double> weights_of(const std::vector<WeightedDataset>& sources) {
  std::vector<double> weights;
  for (const WeightedDataset& source : sources) weights.push_back(source.weight);
  return weights;
}

}  // namespace

Rows::Rows(const Dataset& dataset, Split split, RowOptions options)
    : shards_(dataset.shards(split)),
      options_(options),
      classification_(
          options.begin_with_classification ? dataset.tokenizer().special().classification : -1),
      separator_(dataset.tokenizer().special().separator) {
  ROFORMER_ASSERT(options.length >= 2 && options.overlap >= 0);
  content_ = static_cast<std::uint64_t>(options.length - (classification_ >= 0 ? 1 : 0));
  shard_starts_.push_back(0);
  for (const Shard& shard : shards_) {
    shard_starts_.push_back(shard_starts_.back() + shard.tokens() +
                            (separator_ >= 0 ? shard.documents() : 0));
  }
  const std::uint64_t stream = shard_starts_.back();
  const auto overlap = static_cast<std::uint64_t>(options.overlap);
  size_ = stream < overlap ? 0 : static_cast<std::int64_t>((stream - overlap) / content_);
}

Row Rows::operator[](std::int64_t index) const {
  ROFORMER_ASSERT(index >= 0 && index < size_);
  Row row;
  const auto total = static_cast<std::size_t>(options_.length + options_.overlap);
  row.ids.reserve(total);
  if (classification_ >= 0) row.ids.push_back(classification_);
  row.document_starts.push_back(0);

  const std::uint64_t separators = separator_ >= 0 ? 1 : 0;
  std::uint64_t position = static_cast<std::uint64_t>(index) * content_;
  std::size_t shard_number = static_cast<std::size_t>(
      std::ranges::upper_bound(shard_starts_, position) - shard_starts_.begin() - 1);
  while (row.ids.size() < total) {
    const Shard& shard = shards_[shard_number];
    const std::span<const std::uint64_t> starts = shard.document_starts();
    std::uint64_t inside = position - shard_starts_[shard_number];  // in the shard's stream
    // The document that holds the position: the last one that begins at or before it.
    const auto documents = starts.first(shard.documents());
    const auto after = std::ranges::partition_point(documents, [&](const std::uint64_t& start) {
      const auto number = static_cast<std::uint64_t>(&start - documents.data());
      return start + number * separators <= inside;
    });
    std::uint64_t document = static_cast<std::uint64_t>(after - documents.begin()) - 1;
    for (; document < shard.documents() && row.ids.size() < total; ++document) {
      const std::uint64_t begin = starts[document] + document * separators;
      const std::uint64_t length = starts[document + 1] - starts[document];
      const bool begins_here = inside == begin;
      const bool row_begins = row.ids.size() == (classification_ >= 0 ? 1u : 0u);
      if (begins_here && !row_begins) {
        row.document_starts.push_back(static_cast<std::int32_t>(row.ids.size()));
      }
      const std::uint64_t skipped = inside - begin;
      if (skipped < length) {
        const std::size_t room = total - row.ids.size();
        const std::size_t taken = std::min<std::uint64_t>(room, length - skipped);
        const std::size_t old_size = row.ids.size();
        row.ids.resize(old_size + taken);
        shard.copy_tokens(starts[document] + skipped, std::span(row.ids).subspan(old_size));
        inside += taken;
      }
      if (separators > 0 && row.ids.size() < total) {
        row.ids.push_back(separator_);
        ++inside;
      }
    }
    ++shard_number;
    position = shard_starts_[std::min(shard_number, shards_.size())];
  }
  return row;
}

Masker::Masker(const Tokenizer& tokenizer, const MaskingSettings& settings)
    : settings_(settings), tokenizer_(tokenizer), mask_(tokenizer.special().mask) {
  if (mask_ < 0) {
    throw_usage(
        "tokenizer",
        "has no mask token, which masked language modelling needs: " + tokenizer.description(),
        "train one with `roformer tokenizer train`, which adds it");
  }
  const auto size = static_cast<std::size_t>(tokenizer.vocabulary_size());
  is_special_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = static_cast<TokenId>(i);
    is_special_[i] = tokenizer.is_special(id);
    if (!is_special_[i]) candidates_.push_back(id);
  }
  ROFORMER_ASSERT(!candidates_.empty());
}

std::vector<char> Masker::find_draws(std::span<const TokenId> ids) const {
  std::vector<char> draws(ids.size(), 1);
  if (!settings_.whole_words) return draws;
  tokenizer_.find_words(ids, draws);
  const auto is_special = [&](std::size_t i) {
    return is_special_[static_cast<std::size_t>(ids[i])] != 0;
  };
  for (std::size_t begin = 0; begin < ids.size();) {
    std::size_t end = begin + 1;
    if (!is_special(begin)) {
      draws[begin] = 1;  // a piece after a special token begins a word, whatever it is
      while (end < ids.size() && draws[end] == 0 && !is_special(end)) ++end;
      if (end - begin > kMostPiecesOfWord) {
        std::fill(draws.begin() + static_cast<std::ptrdiff_t>(begin),
                  draws.begin() + static_cast<std::ptrdiff_t>(end), char{1});
      }
    }
    begin = end;
  }
  return draws;
}

void Masker::mask(std::span<TokenId> ids, std::uint64_t key, std::vector<std::int32_t>& positions,
                  std::vector<TokenId>& labels) const {
  Random random(key);
  const std::vector<char> draws = find_draws(ids);
  bool chosen = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (is_special_[static_cast<std::size_t>(ids[i])]) continue;
    if (draws[i] != 0) chosen = random.uniform() < settings_.probability;
    if (!chosen) continue;
    positions.push_back(static_cast<std::int32_t>(i));
    labels.push_back(ids[i]);
    const double fate = random.uniform();
    if (fate < settings_.mask) {
      ids[i] = mask_;
    } else if (fate < settings_.mask + settings_.random) {
      ids[i] = candidates_[random.below(candidates_.size())];
    }
  }
}

SourceMixture::SourceMixture(const std::vector<double>& weights)
    : shares_(shares_of(weights, kPattern)) {
  ROFORMER_ASSERT(!weights.empty() && std::ssize(weights) <= kPattern);
  // The next row comes from the source that lags furthest below its share.
  std::vector<std::int64_t> taken(weights.size());
  for (std::int64_t n = 0; n < kPattern; ++n) {
    std::size_t next = 0;
    std::int64_t most = -kPattern * kPattern;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t behind = shares_[i] * (n + 1) - taken[i] * kPattern;
      if (taken[i] < shares_[i] && behind > most) {
        most = behind;
        next = i;
      }
    }
    pattern_.push_back({.source = next, .number = taken[next]++});
  }
}

SourceMixture::Entry SourceMixture::operator[](std::int64_t n) const {
  Entry entry = pattern_[static_cast<std::size_t>(n % kPattern)];
  entry.number += n / kPattern * shares_[entry.source];
  return entry;
}

RowOrder::RowOrder(std::int64_t rows, const BatchOptions& options)
    : rows_(rows), seed_(options.seed), shuffle_(options.shuffle) {
  ROFORMER_ASSERT(rows > 0 && options.rows > 0);
}

RowOrder::Entry RowOrder::operator[](std::int64_t n) const {
  const Entry entry{.epoch = n / rows_, .row = n % rows_};
  if (!shuffle_) return entry;
  const Permutation permutation(
      static_cast<std::uint64_t>(rows_),
      random_key({seed_, random_word("row order"), static_cast<std::uint64_t>(entry.epoch)}));
  return {.epoch = entry.epoch,
          .row = static_cast<std::int64_t>(permutation[static_cast<std::uint64_t>(entry.row)])};
}

TrainingRows::TrainingRows(const std::vector<WeightedDataset>& sources, Split split,
                           const RowOptions& row, const BatchOptions& options)
    : mixture_(weights_of(sources)) {
  for (const auto& [dataset, weight] : sources) {
    Rows rows(dataset, split, row);
    require_a_row(rows, dataset, split);
    BatchOptions own = options;
    if (!sources_.empty()) {
      own.seed = random_key({options.seed, random_word("source"), sources_.size()});
    }
    const RowOrder order(rows.size(), own);
    sources_.push_back({.rows = std::move(rows), .order = order, .seed = own.seed});
  }
}

TrainingRows::Drawn TrainingRows::operator[](std::int64_t n) const {
  const SourceMixture::Entry entry = mixture_[n];
  const Source& source = sources_[entry.source];
  return {.rows = source.rows, .entry = source.order[entry.number], .seed = source.seed};
}

double TrainingRows::rows_per_epoch() const {
  std::int64_t rows = 0;
  for (const Source& source : sources_) rows += source.rows.size();
  return static_cast<double>(rows);
}

template <class Batch>
Batch RowBatches<Batch>::training(std::int64_t n) const {
  Batch batch;
  for (std::int64_t i = 0; i < options_.rows; ++i) {
    const TrainingRows::Drawn drawn = rows_[n * options_.rows + i];
    const std::uint64_t key =
        random_key({drawn.seed, random_word("masks"), static_cast<std::uint64_t>(drawn.entry.epoch),
                    static_cast<std::uint64_t>(drawn.entry.row)});
    append(drawn.rows[drawn.entry.row], key, batch);
  }
  return batch;
}

template <class Batch>
Batch RowBatches<Batch>::validation(std::int64_t n, std::int64_t token_limit) const {
  const std::int64_t count = rows_within(token_limit, rows());
  const std::int64_t end = std::min(count, (n + 1) * options_.rows);
  Batch batch;
  for (std::int64_t i = n * options_.rows; i < end; ++i) {
    const std::int64_t row = spread(i, count, rows().size());
    append(rows()[row], random_key({kValidationSeed, static_cast<std::uint64_t>(row)}), batch);
  }
  ROFORMER_ASSERT(batch.rows > 0);
  return batch;
}

template <class Batch>
std::int64_t RowBatches<Batch>::validation_batches(std::int64_t token_limit) const {
  return (rows_within(token_limit, rows()) + options_.rows - 1) / options_.rows;
}

template <class Batch>
double RowBatches<Batch>::batches_per_epoch() const {
  return rows_.rows_per_epoch() / static_cast<double>(options_.rows);
}

template class RowBatches<MaskedBatch>;
template class RowBatches<CausalBatch>;

MaskedBatches::MaskedBatches(const std::vector<WeightedDataset>& sources, Split split,
                             std::int64_t length, const MaskingSettings& masking,
                             BatchOptions options)
    : RowBatches(sources, split,
                 {.length = length, .begin_with_classification = true, .overlap = 0}, options),
      masker_(sources.front().dataset.tokenizer(), masking) {}

void MaskedBatches::append(Row row, std::uint64_t key, MaskedBatch& batch) const {
  std::vector<std::int32_t> positions;
  std::vector<TokenId> labels;
  masker_.mask(row.ids, key, positions, labels);
  const auto begin = static_cast<std::int64_t>(batch.ids.size());
  for (const std::int32_t position : positions) batch.target_positions.push_back(begin + position);
  batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
  append_row(row, rows().length(), options_.cross_documents, batch);
}

CausalBatches::CausalBatches(const std::vector<WeightedDataset>& sources, Split split,
                             std::int64_t length, BatchOptions options)
    : RowBatches(sources, split,
                 {.length = length, .begin_with_classification = false, .overlap = 1}, options) {}

void CausalBatches::append(Row row, std::uint64_t, CausalBatch& batch) const {
  const auto begin = static_cast<std::ptrdiff_t>(batch.targets.size());
  batch.targets.insert(batch.targets.end(), row.ids.begin() + 1, row.ids.end());
  batch.target_count += rows().length();
  if (!options_.cross_documents) {
    for (const std::int32_t start : row.document_starts) {
      if (start == 0) continue;
      batch.targets[static_cast<std::size_t>(begin + start - 1)] = CausalBatch::kNoTarget;
      --batch.target_count;
    }
  }
  append_row(row, rows().length(), options_.cross_documents, batch);
}

}  // namespace roformer
