#include "data/rows.h"

#include <algorithm>
#include <span>

#include "base/error.h"

namespace roformer {

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

}  // namespace roformer
