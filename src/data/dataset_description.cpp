// Writing and reading dataset.json.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sealed_json.h"
#include "data/dataset.h"
#include "data/missing_data.h"

namespace roformer {
namespace {

constexpr const char* kFile = "dataset.json";
constexpr const char* kDatasetFormat = "roformer dataset";
constexpr int kDatasetVersion = 2;
constexpr int kWithLineEnds = 1;  // the version whose characters include line ends

// 64-bit hashes are written as text: JSON numbers lose bits in other programs.
std::string hexadecimal(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

// Reads fields by type; every complaint names the file and the field.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string location, std::string prefix = "")
      : object_(object), location_(std::move(location)), prefix_(std::move(prefix)) {}

  bool has(const char* key) const { return object_.contains(key); }
  Fields inside(const char* key) const {
    return Fields(checked(key, &nlohmann::json::is_object, "an object"), location_,
                  prefix_ + key + ".");
  }
  std::string text(const char* key) const {
    return checked(key, &nlohmann::json::is_string, "text").get<std::string>();
  }
  std::uint64_t count(const char* key) const {
    return checked(key, &nlohmann::json::is_number_unsigned, "a count").get<std::uint64_t>();
  }
  double number(const char* key) const {
    return checked(key, &nlohmann::json::is_number, "a number").get<double>();
  }
  std::uint64_t hash(const char* key) const { return parse_hash(key, text(key)); }
  std::vector<std::uint64_t> hashes(const char* key) const {
    std::vector<std::uint64_t> values;
    for (const nlohmann::json& item : checked(key, &nlohmann::json::is_array, "a list")) {
      if (!item.is_string()) fail(key, "a list of texts");
      values.push_back(parse_hash(key, item.get<std::string>()));
    }
    return values;
  }

 private:
  const nlohmann::json& object_;
  std::string location_;
  std::string prefix_;

  [[noreturn]] void fail(const char* key, const char* wanted) const {
    throw_failure(location_, fmt::format("lacks '{}{}' as {}", prefix_, key, wanted),
                  kPrepareAgain);
  }
  const nlohmann::json& checked(const char* key, bool (nlohmann::json::*is_right)() const noexcept,
                                const char* wanted) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !((*found).*is_right)()) fail(key, wanted);
    return *found;
  }
  std::uint64_t parse_hash(const char* key, const std::string& text) const {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
    if (error != std::errc() || stop != end) fail(key, "a hexadecimal number");
    return value;
  }
};

nlohmann::ordered_json split_to_json(const DatasetDescription::OfSplit& split) {
  std::vector<std::string> checksums;
  for (const std::uint64_t checksum : split.shard_checksums) {
    checksums.push_back(hexadecimal(checksum));
  }
  return {{"documents", split.counts.documents},   {"tokens", split.counts.tokens},
          {"characters", split.counts.characters}, {"bytes", split.counts.bytes},
          {"unknown", split.counts.unknown},       {"shards", checksums}};
}

DatasetDescription::OfSplit split_from_json(const Fields& fields, bool old) {
  return {.counts = {.documents = fields.count("documents"),
                     .tokens = fields.count("tokens"),
                     .characters = fields.count("characters"),
                     .bytes = fields.count("bytes"),
                     .unknown = old ? 0 : fields.count("unknown")},
          .shard_checksums = fields.hashes("shards")};
}

}  // namespace

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
      {"train", split_to_json(description[Split::train])},
      {"validation", split_to_json(description[Split::validation])},
      {"test", split_to_json(description[Split::test])},
  };
  if (const auto& prefix = description.prefix) {
    json["prefix"] = {{"bytes", prefix->bytes}, {"of", prefix->of}};
  }
  write_sealed_json(folder / kFile, json);
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
  const nlohmann::json json = read_sealed_json(path);
  if (!json.is_object() || json.value("format", nlohmann::json()) != kDatasetFormat) {
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
  const Fields fields(json, path.string());
  const Fields tokenizer = fields.inside("tokenizer");
  DatasetDescription description{
      .name = fields.text("name"),
      .source = fields.text("source"),
      .licence = fields.text("licence"),
      .command = fields.text("command"),
      .fingerprint = fields.hash("fingerprint"),
      .tokenizer_fingerprint = tokenizer.hash("fingerprint"),
      .tokenizer = tokenizer.text("description"),
      .vocabulary_size = static_cast<std::int64_t>(tokenizer.count("vocabulary_size")),
      .validation_fraction = fields.number("validation_fraction"),
      .test_fraction = fields.has("test_fraction") ? fields.number("test_fraction") : 0,
      .seed = fields.count("seed"),
      .files = old ? 0 : fields.count("files"),
      .files_skipped = old ? 0 : fields.count("files_skipped"),
      .repeats_removed = fields.count("repeats_removed"),
      .invalid_sequences = fields.count("invalid_sequences"),
      .splits = {},
      .counts_line_ends = old,
  };
  description[Split::train] = split_from_json(fields.inside("train"), old);
  description[Split::validation] = split_from_json(fields.inside("validation"), old);
  // What was prepared before there were test sets has none.
  if (fields.has("test")) description[Split::test] = split_from_json(fields.inside("test"), old);
  if (fields.has("prefix")) {
    const Fields prefix = fields.inside("prefix");
    description.prefix =
        DatasetDescription::Prefix{.bytes = prefix.count("bytes"), .of = prefix.count("of")};
  }
  return description;
}

}  // namespace roformer
