#include "data/parallel_description.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "base/fields.h"
#include "data/description_json.h"
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

Json to_json(const Description::OfSide& side, bool with_text) {
  Json shards = Json::array();
  for (const std::uint64_t checksum : side.shard_checksums) shards.push_back(hexadecimal(checksum));
  Json json = {{"tokens", side.tokens},         {"unknown", side.unknown}, {"words", side.words},
               {"characters", side.characters}, {"longest", side.longest}, {"shards", shards}};
  if (with_text) json["text"] = hexadecimal(side.text_checksum);
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

Description::OfSide read_side(const JsonFields& fields, bool with_text) {
  return {.tokens = fields.unsigned_count("tokens"),
          .unknown = fields.unsigned_count("unknown"),
          .words = fields.unsigned_count("words"),
          .characters = fields.unsigned_count("characters"),
          .longest = fields.unsigned_count("longest"),
          .shard_checksums = fields.hashes("shards"),
          .text_checksum = with_text ? fields.hash("text") : 0};
}

PairCounts read_counts(const JsonFields& fields) {
  PairCounts counts{.read = fields.unsigned_count("read"),
                    .unmatched = fields.unsigned_count("unmatched"),
                    .invalid = fields.unsigned_count("invalid"),
                    .removed = {},
                    .kept = fields.unsigned_count("kept")};
  const JsonFields removed = fields.object("removed");
  for (std::size_t i = 0; i < kPairRules; ++i) {
    counts.removed[i] = removed.unsigned_count(std::string(to_string(static_cast<PairRule>(i))));
  }
  return counts;
}

PairRules read_rules(const JsonFields& fields) {
  return {.shortest_words = fields.count("shortest_words"),
          .longest_words = fields.count("longest_words"),
          .longest_pieces = fields.count("longest_pieces"),
          .length_ratio = fields.number("length_ratio"),
          .remove_identical = fields.flag("remove_identical"),
          .remove_duplicates = fields.flag("remove_duplicates"),
          .script_share = fields.number("script_share")};
}

Split read_split(const JsonFields& fields) {
  const std::string name = fields.text("split");
  for (const Split split : kSplits) {
    if (name == to_string(split)) return split;
  }
  fields.refuse("split", "train, validation or test");
}

bool has_format(const nlohmann::json& json) {
  return json.is_object() && json.value("format", nlohmann::json()) == kParallelFormat;
}

}  // namespace

std::string_view to_string(Side side) {
  return side == Side::source ? "source" : "target";
}

std::string parallel_shard_name(Split split, Side side, std::size_t number) {
  return fmt::format("{}-{}-{:05}.bin", to_string(split), to_string(side), number);
}

std::string parallel_text_name(Split split, Side side) {
  return fmt::format("{}.{}.txt", to_string(split), to_string(side));
}

Json to_json(const Description::OfSplit& split, bool with_text) {
  Json json = {{"sentences", split.sentences}};
  for (const Side side : kSides)
    json[std::string(to_string(side))] = to_json(split[side], with_text);
  return json;
}

Description::OfSplit parallel_split_from_json(const JsonFields& fields, bool with_text) {
  Description::OfSplit split{.sentences = fields.unsigned_count("sentences"), .sides = {}};
  for (const Side side : kSides) {
    split[side] = read_side(fields.object(std::string(to_string(side))), with_text);
  }
  return split;
}

bool is_parallel_dataset(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kParallelFile, error)) return false;
  const std::optional<nlohmann::json> json =
      try_parse_json(read_file(folder / kParallelFile, kLargestDescription));
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
      {"fingerprint", hexadecimal(about.fingerprint)},
      {"joint_vocabulary", about.joint_vocabulary}};
  if (about.text_fingerprint) json["text_fingerprint"] = hexadecimal(*about.text_fingerprint);
  for (const Side side : kSides) {
    const Description::TokenizerFacts& facts = about.tokenizers[static_cast<std::size_t>(side)];
    json["tokenizers"][std::string(to_string(side))] = {
        {"fingerprint", hexadecimal(facts.fingerprint)},
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
  for (const Split split : kSplits) {
    json["splits"][std::string(to_string(split))] = to_json(about[split], split != Split::train);
  }
  write_checksummed_json(folder / kParallelFile, json);
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
  const nlohmann::json json = read_checksummed_json(path);
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
  const JsonFields fields(json, file, kPrepareAgain);
  const JsonFields languages = fields.object("languages");
  Description about{
      .name = fields.text("name"),
      .source = fields.text("source"),
      .licence = fields.text("licence"),
      .command = fields.text("command"),
      .languages = {.source = languages.text("source"), .target = languages.text("target")},
      .fingerprint = fields.hash("fingerprint"),
      .text_fingerprint = {},
      .joint_vocabulary = fields.flag("joint_vocabulary"),
      .tokenizers = {},
      .validation_fraction = fields.number("validation_fraction"),
      .test_fraction = fields.number("test_fraction"),
      .seed = fields.unsigned_count("seed"),
      .rules = read_rules(fields.object("rules")),
      .origins = {},
      .splits = {}};
  if (fields.has("text_fingerprint")) about.text_fingerprint = fields.hash("text_fingerprint");
  for (const Side side : kSides) {
    const JsonFields facts = fields.object("tokenizers").object(std::string(to_string(side)));
    about.tokenizers[static_cast<std::size_t>(side)] = {
        .fingerprint = facts.hash("fingerprint"),
        .description = facts.text("description"),
        .vocabulary_size = facts.count("vocabulary_size")};
  }
  for (const JsonFields& origin : fields.objects("origins")) {
    about.origins.push_back({.files = origin.text("files"),
                             .split = read_split(origin),
                             .weight = origin.number("weight"),
                             .counts = read_counts(origin.object("counts"))});
  }
  for (const Split split : kSplits) {
    about[split] = parallel_split_from_json(
        fields.object("splits").object(std::string(to_string(split))), split != Split::train);
  }
  return about;
}

}  // namespace roformer
