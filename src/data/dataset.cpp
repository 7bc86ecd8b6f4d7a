#include "data/dataset.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/hexadecimal.h"
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

constexpr std::pair<const char*, std::uint64_t SplitCounts::*> kCounts[] = {
    {"documents", &SplitCounts::documents},
    {"tokens", &SplitCounts::tokens},
    {"characters", &SplitCounts::characters},
    {"bytes", &SplitCounts::bytes},
    {"unknown", &SplitCounts::unknown}};

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
      const Shard& shard = shards_[static_cast<std::size_t>(split)].emplace_back(
          folder / shard_name(split, number));
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

nlohmann::ordered_json to_json(const DatasetDescription::OfSplit& split) {
  nlohmann::ordered_json json;
  for (const auto& [name, count] : kCounts) json[name] = split.counts.*count;
  json["shards"] = nlohmann::ordered_json::array();
  for (const std::uint64_t checksum : split.shard_checksums) {
    json["shards"].push_back(hexadecimal(checksum));
  }
  return json;
}

DatasetDescription::OfSplit split_from_json(const JsonFields& fields, bool with_unknown) {
  DatasetDescription::OfSplit split{.counts = {}, .shard_checksums = fields.hashes("shards")};
  for (const auto& [name, count] : kCounts) {
    if (count == &SplitCounts::unknown && !with_unknown) continue;
    split.counts.*count = fields.unsigned_count(name);
  }
  return split;
}

SplitCounts& SplitCounts::operator+=(const SplitCounts& other) {
  for (const auto& [name, count] : kCounts) this->*count += other.*count;
  return *this;
}

void write_description(const DatasetDescription& description, const std::filesystem::path& folder) {
  nlohmann::ordered_json json = {
      {"format", kDatasetFormat},
      {"version", kDatasetVersion},
      {"name", description.name},
      {"source", description.source},
      {"licence", description.licence},
      {"command", description.command},
      {"fingerprint", hexadecimal(description.fingerprint)},
      {"tokenizer",
       {{"fingerprint", hexadecimal(description.tokenizer_fingerprint)},
        {"description", description.tokenizer},
        {"vocabulary_size", static_cast<std::uint64_t>(description.vocabulary_size)}}},
      {"validation_fraction", description.validation_fraction},
      {"test_fraction", description.test_fraction},
      {"seed", description.seed},
      {"files", description.files},
      {"files_skipped", description.files_skipped},
      {"repeats_removed", description.repeats_removed},
      {"invalid_sequences", description.invalid_sequences},
      {"train", to_json(description[Split::train])},
      {"validation", to_json(description[Split::validation])},
      {"test", to_json(description[Split::test])},
  };
  if (const auto& prefix = description.prefix) {
    json["prefix"] = {{"bytes", prefix->bytes}, {"of", prefix->of}};
  }
  write_checksummed_json(folder / kFile, json);
}

bool holds_description(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / kFile, error);
}

nlohmann::json read_dataset_json(const std::filesystem::path& folder, const char* source) {
  std::error_code error;
  if (holds_description(folder)) return read_checksummed_json(folder / kFile);
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
  const JsonFields fields(json, path.string(), kPrepareAgain);
  const JsonFields tokenizer = fields.object("tokenizer");
  DatasetDescription description{
      .name = fields.text("name"),
      .source = fields.text("source"),
      .licence = fields.text("licence"),
      .command = fields.text("command"),
      .fingerprint = fields.hash("fingerprint"),
      .tokenizer_fingerprint = tokenizer.hash("fingerprint"),
      .tokenizer = tokenizer.text("description"),
      .vocabulary_size = tokenizer.count("vocabulary_size"),
      .validation_fraction = fields.number("validation_fraction"),
      .test_fraction = fields.has("test_fraction") ? fields.number("test_fraction") : 0,
      .seed = fields.unsigned_count("seed"),
      .files = old ? 0 : fields.unsigned_count("files"),
      .files_skipped = old ? 0 : fields.unsigned_count("files_skipped"),
      .repeats_removed = fields.unsigned_count("repeats_removed"),
      .invalid_sequences = fields.unsigned_count("invalid_sequences"),
      .splits = {},
      .counts_line_ends = old,
  };
  description[Split::train] = split_from_json(fields.object("train"), !old);
  description[Split::validation] = split_from_json(fields.object("validation"), !old);
  // Sets of earlier versions have no test set.
  if (fields.has("test")) description[Split::test] = split_from_json(fields.object("test"), !old);
  if (fields.has("prefix")) {
    const JsonFields prefix = fields.object("prefix");
    description.prefix = DatasetDescription::Prefix{.bytes = prefix.unsigned_count("bytes"),
                                                    .of = prefix.unsigned_count("of")};
  }
  return description;
}

}  // namespace roformer
