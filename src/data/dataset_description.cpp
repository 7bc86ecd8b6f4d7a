// Writing and reading dataset.json.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "base/fields.h"
#include "data/dataset.h"
#include "data/description_json.h"
#include "data/missing_data.h"
#include "data/parallel_description.h"

namespace roformer {
namespace {

constexpr const char* kFile = "dataset.json";
constexpr const char* kDatasetFormat = "roformer dataset";
constexpr int kDatasetVersion = 2;
constexpr int kWithLineEnds = 1;  // the version whose characters include line ends

}  // namespace

nlohmann::ordered_json to_json(const DatasetDescription::OfSplit& split) {
  std::vector<std::string> checksums;
  for (const std::uint64_t checksum : split.shard_checksums) {
    checksums.push_back(hexadecimal(checksum));
  }
  return {{"documents", split.counts.documents},   {"tokens", split.counts.tokens},
          {"characters", split.counts.characters}, {"bytes", split.counts.bytes},
          {"unknown", split.counts.unknown},       {"shards", checksums}};
}

DatasetDescription::OfSplit split_from_json(const JsonFields& fields, bool with_unknown) {
  return {.counts = {.documents = fields.unsigned_count("documents"),
                     .tokens = fields.unsigned_count("tokens"),
                     .characters = fields.unsigned_count("characters"),
                     .bytes = fields.unsigned_count("bytes"),
                     .unknown = with_unknown ? fields.unsigned_count("unknown") : 0},
          .shard_checksums = fields.hashes("shards")};
}

SplitCounts& SplitCounts::operator+=(const SplitCounts& other) {
  documents += other.documents;
  tokens += other.tokens;
  characters += other.characters;
  bytes += other.bytes;
  unknown += other.unknown;
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

DatasetDescription read_description(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw_failure(folder.string(),
                  std::filesystem::exists(folder, error)
                      ? "is not a prepared data set: it has no dataset.json"
                      : "no such prepared data set",
                  how_to_prepare(folder, "FILES"));
  }
  const nlohmann::json json = read_checksummed_json(path);
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
  // What was prepared before there were test sets has none.
  if (fields.has("test")) description[Split::test] = split_from_json(fields.object("test"), !old);
  if (fields.has("prefix")) {
    const JsonFields prefix = fields.object("prefix");
    description.prefix = DatasetDescription::Prefix{.bytes = prefix.unsigned_count("bytes"),
                                                    .of = prefix.unsigned_count("of")};
  }
  return description;
}

}  // namespace roformer
