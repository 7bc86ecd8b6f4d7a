#include "data/dataset.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/json.h"
#include "base/progress.h"
#include "data/data_location.h"
#include "data/description_json.h"
#include "data/parallel_dataset.h"

namespace roformer {
namespace {

constexpr const char* kFile = "dataset.json";
constexpr const char* kDatasetFormat = "roformer dataset";
constexpr int kDatasetVersion = 2;
constexpr int kWithLineEnds = 1;  // the version whose characters include line ends

}  // namespace

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
  const ShardVocabulary vocabulary = vocabulary_of(*tokenizer_);
  if (description_.tokenizer_fingerprint != vocabulary.fingerprint) {
    throw_failure(folder.string(), "was prepared with another tokenizer than the one inside",
                  kPrepareAgain);
  }
  for (const Split split : kSplits) {
    const auto& [counts, checksums] = description_[split];
    std::uint64_t tokens = 0;
    std::uint64_t documents = 0;
    for (std::size_t number = 0; number < checksums.size(); ++number) {
      const Shard& shard = shards_[split].emplace_back(folder / shard_name(split, number));
      shard.require(vocabulary, checksums[number]);
      tokens += shard.tokens();
      documents += shard.documents();
    }
    if (tokens == counts.tokens && documents == counts.documents) continue;
    throw_failure(folder.string(),
                  fmt::format("has {} {} tokens in {} documents, dataset.json says {} in {}",
                              tokens, to_string(split), documents, counts.tokens, counts.documents),
                  kPrepareAgain);
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

SplitCounts& SplitCounts::operator+=(const SplitCounts& other) {
  for (const auto& [name, count] : kSplitCounts) this->*count += other.*count;
  return *this;
}

namespace {

// `old`: the first version, which did not count files.
void describe_dataset(auto& stored, auto& about, bool old) {
  stored.field("name", about.name);
  stored.field("source", about.source);
  stored.field("licence", about.licence);
  stored.field("command", about.command);
  stored.hash("fingerprint", about.fingerprint);
  stored.map("tokenizer", about, [](auto& tokenizer, auto& of) {
    tokenizer.hash("fingerprint", of.tokenizer_fingerprint);
    tokenizer.field("description", of.tokenizer);
    tokenizer.count("vocabulary_size", of.vocabulary_size);
  });
  stored.number("validation_fraction", about.validation_fraction);
  if (stored.holds("test_fraction", true)) stored.number("test_fraction", about.test_fraction);
  stored.count("seed", about.seed);
  if (!old) {
    stored.count("files", about.files);
    stored.count("files_skipped", about.files_skipped);
  }
  stored.count("repeats_removed", about.repeats_removed);
  stored.count("invalid_sequences", about.invalid_sequences);
  for (const Split split : kSplits) {
    const std::string name(to_string(split));
    // Sets of earlier versions have no test set.
    if (split == Split::test && !stored.holds(name.c_str(), true)) continue;
    stored.map(name.c_str(), about[split],
               [&](auto& inner, auto& of_split) { describe_split(inner, of_split, !old); });
  }
  if (!stored.holds("prefix", about.prefix)) return;
  stored.map("prefix", *about.prefix, [](auto& inner, auto& prefix) {
    inner.count("bytes", prefix.bytes);
    inner.count("of", prefix.of);
  });
}

}  // namespace

void write_description(const DatasetDescription& description, const std::filesystem::path& folder) {
  StoredWriter stored;
  stored.object = {{"format", kDatasetFormat}, {"version", kDatasetVersion}};
  describe_dataset(stored, description, /*old=*/false);
  write_checksummed_json(folder / kFile, stored.object);
}

bool holds_description(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / kFile, error);
}

nlohmann::json read_dataset_json(const std::filesystem::path& folder, const char* source) {
  std::error_code error;
  if (std::filesystem::exists(folder / kFile, error)) return read_checksummed_json(folder / kFile);
  if (error) throw_failure(folder.string(), "cannot read: " + error.message());
  throw_failure(folder.string(),
                std::filesystem::exists(folder, error)
                    ? "is not a prepared data set: it has no dataset.json"
                    : "no such prepared data set",
                how_to_prepare(folder, source));
}

DatasetDescription read_description(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kFile;
  const nlohmann::json json = read_dataset_json(folder, "FILES");
  if (!json.is_object() || json.value("format", nlohmann::json()) != kDatasetFormat) {
    if (is_parallel_dataset(folder)) {
      throw_failure(folder.string(), "holds pairs of sentences", "they are for task translation");
    }
    throw_failure(path.string(), "is not a data set description of this program");
  }
  const nlohmann::json version = json.value("version", nlohmann::json());
  const bool old = version == kWithLineEnds;
  if (version != kDatasetVersion && !old) {
    throw_failure(path.string(),
                  fmt::format("has version {}, this program reads versions {} and {}",
                              describe_json(version), kWithLineEnds, kDatasetVersion),
                  kPrepareAgain);
  }
  DatasetDescription description;
  description.counts_line_ends = old;
  StoredReader stored(JsonFields(json, path.string(), kPrepareAgain));
  describe_dataset(stored, description, old);
  return description;
}

}  // namespace roformer
