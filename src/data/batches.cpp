#include "data/batches.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"

namespace roformer {
namespace {

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
          ? "choose a smaller data.length or prepare more text"
          : fmt::format("choose a smaller data.length, or prepare the data with a larger "
                        "--{}-fraction",
                        to_string(split)));
}

// Appends the row's ids and where sequences begin in it.
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

// Row `index` of a pass over `count` of `size` rows, which lie evenly over all of them: the
// beginning of a split is a text of its own.
std::int64_t spread(std::int64_t index, std::int64_t count, std::int64_t size) {
  return (2 * index + 1) * size / (2 * count);
}

std::int64_t batches_for(std::int64_t rows, std::int64_t rows_per_batch) {
  return (rows + rows_per_batch - 1) / rows_per_batch;
}

}  // namespace

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

MaskedBatches::MaskedBatches(const Dataset& dataset, Split split, std::int64_t length,
                             const MaskingSettings& masking, BatchOptions options)
    : rows_(dataset, split, {.length = length, .begin_with_classification = true, .overlap = 0}),
      masker_(dataset.tokenizer(), masking),
      options_(options),
      order_((require_a_row(rows_, dataset, split), rows_.size()), options) {}

void MaskedBatches::append(std::int64_t row_number, std::uint64_t key, MaskedBatch& batch) const {
  Row row = rows_[row_number];
  std::vector<std::int32_t> positions;
  std::vector<TokenId> labels;
  masker_.mask(row.ids, key, positions, labels);
  const auto begin = static_cast<std::int64_t>(batch.ids.size());
  for (const std::int32_t position : positions) batch.target_positions.push_back(begin + position);
  batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
  append_row(row, rows_.length(), options_.cross_documents, batch);
}

MaskedBatch MaskedBatches::training(std::int64_t n) const {
  MaskedBatch batch;
  for (std::int64_t i = 0; i < options_.rows; ++i) {
    const RowOrder::Entry entry = order_[n * options_.rows + i];
    const std::uint64_t key =
        random_key({options_.seed, random_word("masks"), static_cast<std::uint64_t>(entry.epoch),
                    static_cast<std::uint64_t>(entry.row)});
    append(entry.row, key, batch);
  }
  return batch;
}

MaskedBatch MaskedBatches::validation(std::int64_t n, std::int64_t token_limit) const {
  const std::int64_t count = rows_within(token_limit, rows_);
  const std::int64_t end = std::min(count, (n + 1) * options_.rows);
  MaskedBatch batch;
  for (std::int64_t i = n * options_.rows; i < end; ++i) {
    const std::int64_t row = spread(i, count, rows_.size());
    append(row, random_key({kValidationSeed, static_cast<std::uint64_t>(row)}), batch);
  }
  ROFORMER_ASSERT(batch.rows > 0);
  return batch;
}

std::int64_t MaskedBatches::validation_batches(std::int64_t token_limit) const {
  return batches_for(rows_within(token_limit, rows_), options_.rows);
}

double MaskedBatches::batches_per_epoch() const {
  return static_cast<double>(rows_.size()) / static_cast<double>(options_.rows);
}

CausalBatches::CausalBatches(const Dataset& dataset, Split split, std::int64_t length,
                             BatchOptions options)
    : rows_(dataset, split, {.length = length, .begin_with_classification = false, .overlap = 1}),
      options_(options),
      order_((require_a_row(rows_, dataset, split), rows_.size()), options) {}

void CausalBatches::append(std::int64_t row_number, CausalBatch& batch) const {
  const Row row = rows_[row_number];
  const auto begin = static_cast<std::ptrdiff_t>(batch.targets.size());
  batch.targets.insert(batch.targets.end(), row.ids.begin() + 1, row.ids.end());
  batch.target_count += rows_.length();
  if (!options_.cross_documents) {
    for (const std::int32_t start : row.document_starts) {
      if (start == 0) continue;
      batch.targets[static_cast<std::size_t>(begin + start - 1)] = CausalBatch::kNoTarget;
      --batch.target_count;
    }
  }
  append_row(row, rows_.length(), options_.cross_documents, batch);
}

CausalBatch CausalBatches::training(std::int64_t n) const {
  CausalBatch batch;
  for (std::int64_t i = 0; i < options_.rows; ++i) append(order_[n * options_.rows + i].row, batch);
  return batch;
}

CausalBatch CausalBatches::validation(std::int64_t n, std::int64_t token_limit) const {
  const std::int64_t count = rows_within(token_limit, rows_);
  const std::int64_t end = std::min(count, (n + 1) * options_.rows);
  CausalBatch batch;
  for (std::int64_t i = n * options_.rows; i < end; ++i) {
    append(spread(i, count, rows_.size()), batch);
  }
  ROFORMER_ASSERT(batch.rows > 0);
  return batch;
}

std::int64_t CausalBatches::validation_batches(std::int64_t token_limit) const {
  return batches_for(rows_within(token_limit, rows_), options_.rows);
}

double CausalBatches::batches_per_epoch() const {
  return static_cast<double>(rows_.size()) / static_cast<double>(options_.rows);
}

}  // namespace roformer
