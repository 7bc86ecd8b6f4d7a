#include "data/parallel_description.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sealed_json.h"
#include "data/missing_data.h"
#include "data/shard.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kParallelFile = "dataset.json";
constexpr const char* kParallelFormat = "roformer parallel dataset";
constexpr int kParallelVersion = 1;
using Json = nlohmann::ordered_json;
using Description = ParallelDescription;

// 64-bit hashes are written as text: JSON numbers lose bits in other programs.
std::string parallel_hexadecimal(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

// Reads fields by type; every complaint names the file and the field.
class ParallelFields {
 public:
  ParallelFields(const nlohmann::json& object, const std::string& file, std::string prefix = "")
      : object_(object), file_(file), prefix_(std::move(prefix)) {}

  ParallelFields inside(const std::string& key) const {
    return ParallelFields(checked(key, &nlohmann::json::is_object, "an object"), file_,
                          prefix_ + key + ".");
  }
  std::vector<ParallelFields> list(const std::string& key) const {
    std::vector<ParallelFields> items;
    for (const nlohmann::json& item : checked(key, &nlohmann::json::is_array, "a list")) {
      if (!item.is_object()) fail(key, "a list of objects");
      items.emplace_back(item, file_, fmt::format("{}{}[{}].", prefix_, key, items.size()));
    }
    return items;
  }
  std::string text(const std::string& key) const {
    return checked(key, &nlohmann::json::is_string, "text").get<std::string>();
  }
  bool flag(const std::string& key) const {
    return checked(key, &nlohmann::json::is_boolean, "true or false").get<bool>();
  }
  std::uint64_t count(const std::string& key) const {
    return checked(key, &nlohmann::json::is_number_unsigned, "a count").get<std::uint64_t>();
  }
  // A count that is no longer than 2^31.
  std::int64_t size(const std::string& key) const {
    const std::uint64_t value = count(key);
    if (value > std::uint64_t{1} << 31) fail(key, "a count up to 2^31");
    return static_cast<std::int64_t>(value);
  }
  double number(const std::string& key) const {
    return checked(key, &nlohmann::json::is_number, "a number").get<double>();
  }
  std::uint64_t hash(const std::string& key) const { return parse_hash(key, text(key)); }
  std::vector<std::uint64_t> hashes(const std::string& key) const {
    std::vector<std::uint64_t> values;
    for (const nlohmann::json& item : checked(key, &nlohmann::json::is_array, "a list")) {
      if (!item.is_string()) fail(key, "a list of texts");
      values.push_back(parse_hash(key, item.get<std::string>()));
    }
    return values;
  }
  [[noreturn]] void fail(const std::string& key, const char* wanted) const {
    throw_failure(file_, fmt::format("lacks '{}{}' as {}", prefix_, key, wanted), kPrepareAgain);
  }

 private:
  const nlohmann::json& object_;
  const std::string& file_;
  std::string prefix_;

  const nlohmann::json& checked(const std::string& key,
                                bool (nlohmann::json::*is_right)() const noexcept,
                                const char* wanted) const {
    const auto found = object_.find(key);
    if (found == object_.end() || !((*found).*is_right)()) fail(key, wanted);
    return *found;
  }
  std::uint64_t parse_hash(const std::string& key, const std::string& text) const {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
    if (error != std::errc() || stop != end) fail(key, "a hexadecimal number");
    return value;
  }
};

Json to_json(const Description::OfSide& side, bool with_text) {
  Json shards = Json::array();
  for (const std::uint64_t checksum : side.shard_checksums)
    shards.push_back(parallel_hexadecimal(checksum));
  Json json = {{"tokens", side.tokens},         {"unknown", side.unknown}, {"words", side.words},
               {"characters", side.characters}, {"longest", side.longest}, {"shards", shards}};
  if (with_text) json["text"] = parallel_hexadecimal(side.text_checksum);
  return json;
}

Json to_json(const PairCounts& counts) {
  Json removed = Json::object();
  for (std::size_t i = 0; i < kPairRules; ++i) {
    removed[std::string(to_string(static_cast<PairRule>(i)))] = counts.removed[i];
  }
  return {{"read", counts.read},
          {"unmatched", counts.unmatched},
          {"invalid", counts.invalid},
          {"removed", removed},
          {"kept", counts.kept}};
}

Json to_json(const PairRules& rules) {
  return {
      {"shortest_words", rules.shortest_words},     {"longest_words", rules.longest_words},
      {"longest_pieces", rules.longest_pieces},     {"length_ratio", rules.length_ratio},
      {"remove_identical", rules.remove_identical}, {"remove_duplicates", rules.remove_duplicates},
      {"script_share", rules.script_share}};
}

Description::OfSide read_side(const ParallelFields& fields, bool with_text) {
  return {.tokens = fields.count("tokens"),
          .unknown = fields.count("unknown"),
          .words = fields.count("words"),
          .characters = fields.count("characters"),
          .longest = fields.count("longest"),
          .shard_checksums = fields.hashes("shards"),
          .text_checksum = with_text ? fields.hash("text") : 0};
}

PairCounts read_counts(const ParallelFields& fields) {
  PairCounts counts{.read = fields.count("read"),
                    .unmatched = fields.count("unmatched"),
                    .invalid = fields.count("invalid"),
                    .removed = {},
                    .kept = fields.count("kept")};
  const ParallelFields removed = fields.inside("removed");
  for (std::size_t i = 0; i < kPairRules; ++i) {
    counts.removed[i] = removed.count(std::string(to_string(static_cast<PairRule>(i))));
  }
  return counts;
}

PairRules read_rules(const ParallelFields& fields) {
  return {.shortest_words = fields.size("shortest_words"),
          .longest_words = fields.size("longest_words"),
          .longest_pieces = fields.size("longest_pieces"),
          .length_ratio = fields.number("length_ratio"),
          .remove_identical = fields.flag("remove_identical"),
          .remove_duplicates = fields.flag("remove_duplicates"),
          .script_share = fields.number("script_share")};
}

ParallelSplit read_split(const ParallelFields& fields) {
  const std::string name = fields.text("split");
  for (const ParallelSplit split : kParallelSplits) {
    if (name == to_string(split)) return split;
  }
  fields.fail("split", "train, validation or test");
}

bool has_format(const nlohmann::json& json) {
  return json.is_object() && json.value("format", nlohmann::json()) == kParallelFormat;
}

}  // namespace

std::string_view to_string(ParallelSplit split) {
  constexpr std::array<std::string_view, 3> names = {"train", "validation", "test"};
  return names[static_cast<std::size_t>(split)];
}

std::string_view to_string(Side side) {
  return side == Side::source ? "source" : "target";
}

std::string parallel_shard_name(ParallelSplit split, Side side, std::size_t number) {
  return fmt::format("{}-{}-{:05}.bin", to_string(split), to_string(side), number);
}

std::string parallel_text_name(ParallelSplit split, Side side) {
  return fmt::format("{}.{}.txt", to_string(split), to_string(side));
}

bool is_parallel_dataset(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kParallelFile, error)) return false;
  const std::optional<nlohmann::json> json = try_parse_json(read_file(folder / kParallelFile));
  return json && has_format(*json);
}

void write_description(const Description& about, const fs::path& folder) {
  Json json = {
      {"format", kParallelFormat},
      {"version", kParallelVersion},
      {"name", about.name},
      {"source", about.source},
      {"licence", about.licence},
      {"command", about.command},
      {"languages", {{"source", about.languages.source}, {"target", about.languages.target}}},
      {"fingerprint", parallel_hexadecimal(about.fingerprint)},
      {"joint_vocabulary", about.joint_vocabulary}};
  for (const Side side : kSides) {
    const Description::TokenizerFacts& facts = about.tokenizers[static_cast<std::size_t>(side)];
    json["tokenizers"][std::string(to_string(side))] = {
        {"fingerprint", parallel_hexadecimal(facts.fingerprint)},
        {"description", facts.description},
        {"vocabulary_size", static_cast<std::uint64_t>(facts.vocabulary_size)}};
  }
  json["validation_fraction"] = about.validation_fraction;
  json["test_fraction"] = about.test_fraction;
  json["seed"] = about.seed;
  json["rules"] = to_json(about.rules);
  json["origins"] = Json::array();
  for (const Description::Origin& origin : about.origins) {
    json["origins"].push_back({{"files", origin.files},
                               {"split", to_string(origin.split)},
                               {"weight", origin.weight},
                               {"counts", to_json(origin.counts)}});
  }
  for (const ParallelSplit split : kParallelSplits) {
    Json& of_split = json["splits"][std::string(to_string(split))];
    of_split["sentences"] = about[split].sentences;
    for (const Side side : kSides) {
      of_split[std::string(to_string(side))] =
          to_json(about[split][side], split != ParallelSplit::train);
    }
  }
  write_sealed_json(folder / kParallelFile, json);
}

Description read_parallel_description(const fs::path& folder) {
  const fs::path path = folder / kParallelFile;
  const std::string file = path.string();
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw_failure(folder.string(),
                  fs::exists(folder, error) ? "is not a prepared data set: it has no dataset.json"
                                            : "no such prepared data set",
                  how_to_prepare(folder, "RECIPE"));
  }
  const nlohmann::json json = read_sealed_json(path);
  if (!has_format(json)) {
    throw_failure(file, "does not describe a prepared parallel corpus",
                  "prepare one of two languages: roformer data prepare --help");
  }
  if (json.value("version", nlohmann::json()) != kParallelVersion) {
    throw_failure(
        file,
        fmt::format("has version {}, this program reads version {}",
                    describe_json(json.value("version", nlohmann::json())), kParallelVersion),
        kPrepareAgain);
  }
  const ParallelFields fields(json, file);
  const ParallelFields languages = fields.inside("languages");
  Description about{
      .name = fields.text("name"),
      .source = fields.text("source"),
      .licence = fields.text("licence"),
      .command = fields.text("command"),
      .languages = {.source = languages.text("source"), .target = languages.text("target")},
      .fingerprint = fields.hash("fingerprint"),
      .joint_vocabulary = fields.flag("joint_vocabulary"),
      .tokenizers = {},
      .validation_fraction = fields.number("validation_fraction"),
      .test_fraction = fields.number("test_fraction"),
      .seed = fields.count("seed"),
      .rules = read_rules(fields.inside("rules")),
      .origins = {},
      .splits = {}};
  for (const Side side : kSides) {
    const ParallelFields facts = fields.inside("tokenizers").inside(std::string(to_string(side)));
    about.tokenizers[static_cast<std::size_t>(side)] = {
        .fingerprint = facts.hash("fingerprint"),
        .description = facts.text("description"),
        .vocabulary_size = facts.size("vocabulary_size")};
  }
  for (const ParallelFields& origin : fields.list("origins")) {
    about.origins.push_back({.files = origin.text("files"),
                             .split = read_split(origin),
                             .weight = origin.number("weight"),
                             .counts = read_counts(origin.inside("counts"))});
  }
  for (const ParallelSplit split : kParallelSplits) {
    const ParallelFields of_split = fields.inside("splits").inside(std::string(to_string(split)));
    about[split].sentences = of_split.count("sentences");
    for (const Side side : kSides) {
      about[split][side] =
          read_side(of_split.inside(std::string(to_string(side))), split != ParallelSplit::train);
    }
  }
  return about;
}

}  // namespace roformer
