#include "data/dataset.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"

namespace roformer {

std::string shown_name(const DatasetDescription& description) {
  if (!description.prefix) return description.name;
  const auto count = [](std::uint64_t bytes) {
    return format_count(static_cast<std::int64_t>(bytes));
  };
  return fmt::format("{}, the first {} of {} bytes", description.name,
                     count(description.prefix->bytes), count(description.prefix->of));
}

std::string shard_name(Split split, std::size_t number) {
  return fmt::format("{}-{:05}.bin", to_string(split), number);
}

Dataset::Dataset(const std::filesystem::path& folder)
    : folder_(folder), description_(read_description(folder)), tokenizer_(load_tokenizer(folder)) {
  const ShardVocabulary vocabulary{
      .size = static_cast<std::uint64_t>(tokenizer_->vocabulary_size()),
      .fingerprint = tokenizer_->fingerprint()};
  if (description_.tokenizer_fingerprint != vocabulary.fingerprint) {
    throw_failure(folder.string(), "was prepared with another tokenizer than the one inside",
                  kPrepareAgain);
  }
  for (const Split split : kSplits) {
    const DatasetDescription::OfSplit& described = description_[split];
    std::vector<Shard>& shards = shards_[static_cast<std::size_t>(split)];
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    for (std::size_t number = 0; number < described.shard_checksums.size(); ++number) {
      const std::filesystem::path path = folder / shard_name(split, number);
      const Shard& shard = shards.emplace_back(path);
      if (shard.vocabulary().fingerprint != vocabulary.fingerprint ||
          shard.vocabulary().size != vocabulary.size) {
        throw_failure(path.string(), "was made with another tokenizer than the data set's",
                      kPrepareAgain);
      }
      if (shard.checksum() != described.shard_checksums[number]) {
        throw_failure(path.string(), "does not belong to this data set", kPrepareAgain);
      }
      tokens += shard.tokens();
      documents += shard.documents();
    }
    if (tokens != described.counts.tokens || documents != described.counts.documents) {
      throw_failure(folder.string(),
                    fmt::format("has {} {} tokens in {} documents, dataset.json says {} in {}",
                                tokens, to_string(split), documents, described.counts.tokens,
                                described.counts.documents),
                    kPrepareAgain);
    }
  }
}

void Dataset::require(Split split) const {
  if (description_[split].counts.tokens > 0) return;
  throw_usage(folder_.string(), fmt::format("has no {} set", to_string(split)),
              fmt::format("prepare it with --{0}-fraction or --{0} FILES", to_string(split)));
}

void Dataset::verify_checksums() const {
  for (const std::vector<Shard>& shards : shards_) {
    for (const Shard& shard : shards) shard.verify_checksum();
  }
}

}  // namespace roformer
