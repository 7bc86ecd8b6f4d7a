#include "data/parallel_dataset.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"

namespace roformer {
namespace fs = std::filesystem;

ParallelDataset::ParallelDataset(const fs::path& folder)
    : folder_(folder), description_(read_parallel_description(folder)) {
  for (const Side side : kSides) {
    const auto which = static_cast<std::size_t>(side);
    if (description_.joint_vocabulary) {
      tokenizers_[which] = which == 0 ? load_tokenizer(folder) : tokenizers_[0];
    } else {
      tokenizers_[which] = load_tokenizer(folder / to_string(side));
    }
    if (description_.tokenizers[which].fingerprint != tokenizers_[which]->fingerprint()) {
      throw_failure(folder.string(),
                    fmt::format("was prepared with another {} tokenizer than the one inside",
                                to_string(side)),
                    kPrepareAgain);
    }
  }
  for (const Split split : kSplits) open_split(split);
}

void ParallelDataset::open_split(Split split) {
  OfSplit& opened = splits_[static_cast<std::size_t>(split)];
  const ParallelDescription::OfSplit& described = description_[split];
  const std::size_t count = described[Side::source].shard_checksums.size();
  if (described[Side::target].shard_checksums.size() != count) {
    throw_failure(
        (folder_ / "dataset.json").string(),
        fmt::format("lists different numbers of {} shards for the two languages", to_string(split)),
        kPrepareAgain);
  }
  opened.starts.push_back(0);
  for (std::size_t number = 0; number < count; ++number) {
    for (const Side side : kSides) {
      const auto which = static_cast<std::size_t>(side);
      const fs::path path = folder_ / parallel_shard_name(split, side, number);
      const Shard& shard = opened.shards[which].emplace_back(path);
      const Tokenizer& own = tokenizer(side);
      if (shard.vocabulary().fingerprint != own.fingerprint() ||
          shard.vocabulary().size != static_cast<std::uint64_t>(own.vocabulary_size())) {
        throw_failure(path.string(), "was made with another tokenizer than the data set's",
                      kPrepareAgain);
      }
      if (shard.checksum() != described[side].shard_checksums[number]) {
        throw_failure(path.string(), "does not belong to this data set", kPrepareAgain);
      }
      if (shard.documents() != opened.shards[0][number].documents()) {
        throw_failure(path.string(),
                      fmt::format("has {} sentences, its source {}", shard.documents(),
                                  opened.shards[0][number].documents()),
                      kPrepareAgain);
      }
    }
    opened.starts.push_back(opened.starts.back() +
                            static_cast<std::int64_t>(opened.shards[0].back().documents()));
  }
  for (const Side side : kSides) {
    std::uint64_t tokens = 0;
    for (const Shard& shard : opened.shards[static_cast<std::size_t>(side)]) {
      tokens += shard.tokens();
    }
    if (tokens != described[side].tokens ||
        static_cast<std::uint64_t>(opened.starts.back()) != described.sentences) {
      throw_failure(folder_.string(),
                    fmt::format("has {} {} {} tokens in {} sentences, dataset.json says {} in {}",
                                tokens, to_string(split), to_string(side), opened.starts.back(),
                                described[side].tokens, described.sentences),
                    kPrepareAgain);
    }
  }
}

const Tokenizer& ParallelDataset::tokenizer(Side side) const {
  return *tokenizers_[static_cast<std::size_t>(side)];
}

std::int64_t ParallelDataset::sentences(Split split) const {
  return of(split).starts.back();
}

void ParallelDataset::require_sentences(Split split) const {
  if (sentences(split) > 0) return;
  const std::string set(to_string(split));
  throw_usage("--split", fmt::format("{} has no {} set", folder_.string(), set),
              fmt::format("prepare it with --{} or --{}-fraction", set, set));
}

std::size_t ParallelDataset::shards(Split split) const {
  return of(split).shards[0].size();
}

ParallelDataset::Location ParallelDataset::locate(Split split, std::int64_t i) const {
  const std::vector<std::int64_t>& starts = of(split).starts;
  ROFORMER_ASSERT(i >= 0 && i < starts.back());
  const auto after = std::ranges::upper_bound(starts, i);
  const auto shard = static_cast<std::size_t>(after - starts.begin() - 1);
  return {.shard = shard, .document = static_cast<std::size_t>(i - starts[shard])};
}

std::int64_t ParallelDataset::length(Split split, Side side, std::int64_t i) const {
  const Location at = locate(split, i);
  const auto starts = of(split).shards[static_cast<std::size_t>(side)][at.shard].document_starts();
  return static_cast<std::int64_t>(starts[at.document + 1] - starts[at.document]);
}

std::vector<std::int32_t> ParallelDataset::lengths(Split split, Side side) const {
  std::vector<std::int32_t> lengths;
  lengths.reserve(static_cast<std::size_t>(sentences(split)));
  for (const Shard& shard : of(split).shards[static_cast<std::size_t>(side)]) {
    const auto starts = shard.document_starts();
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      lengths.push_back(static_cast<std::int32_t>(starts[i + 1] - starts[i]));
    }
  }
  return lengths;
}

std::vector<TokenId> ParallelDataset::sentence(Split split, Side side, std::int64_t i) const {
  const Location at = locate(split, i);
  const Shard& shard = of(split).shards[static_cast<std::size_t>(side)][at.shard];
  const std::uint64_t begin = shard.document_starts()[at.document];
  std::vector<TokenId> ids(shard.document_starts()[at.document + 1] - begin);
  shard.copy_tokens(begin, ids);
  return ids;
}

std::vector<std::string> ParallelDataset::text(Split split, Side side) const {
  ROFORMER_ASSERT(split != Split::train);
  std::vector<std::string> lines;
  if (sentences(split) == 0) return lines;
  const fs::path path = folder_ / parallel_text_name(split, side);
  const std::string contents = read_file(path);
  if (XXH3_64bits(contents.data(), contents.size()) != description_[split][side].text_checksum) {
    throw_failure(path.string(), "is damaged: its contents do not fit the checksum", kPrepareAgain);
  }
  lines.reserve(static_cast<std::size_t>(sentences(split)));
  for (std::size_t begin = 0; begin < contents.size();) {
    const std::size_t end = std::min(contents.find('\n', begin), contents.size());
    lines.push_back(contents.substr(begin, end - begin));
    begin = end + 1;
  }
  if (static_cast<std::int64_t>(lines.size()) != sentences(split)) {
    throw_failure(path.string(),
                  fmt::format("has {} lines for {} sentences", lines.size(), sentences(split)),
                  kPrepareAgain);
  }
  return lines;
}

void ParallelDataset::verify_checksums() const {
  for (const Split split : kSplits) {
    for (const Side side : kSides) {
      for (const Shard& shard : of(split).shards[static_cast<std::size_t>(side)]) {
        shard.verify_checksum();
      }
      if (split != Split::train) text(split, side);
    }
  }
}

}  // namespace roformer
