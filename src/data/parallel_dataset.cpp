#include "data/parallel_dataset.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/checksums.h"
#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/json.h"
#include "base/parts.h"
#include "data/dataset.h"
#include "data/description_json.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kParallelFile = "dataset.json";
constexpr const char* kParallelFormat = "roformer parallel dataset";
constexpr int kParallelVersion = 1;
using Description = ParallelDescription;

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

bool is_parallel_dataset(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_regular_file(folder / kParallelFile, error)) return false;
  const std::optional<nlohmann::json> json =
      try_parse_json(read_file(folder / kParallelFile, kLargestDescription));
  return json && has_format(*json);
}

namespace {

const auto describe_counts = [](auto& stored, auto& counts) {
  stored.count("read", counts.read);
  stored.count("unmatched", counts.unmatched);
  stored.count("invalid", counts.invalid);
  stored.map("removed", counts.removed, [](auto& inner, auto& removed) {
    for (std::size_t i = 0; i < kPairRules; ++i) {
      inner.count(std::string(to_string(static_cast<PairRule>(i))).c_str(), removed[i]);
    }
  });
  stored.count("kept", counts.kept);
};

const auto describe_rules = [](auto& stored, auto& rules) {
  for_each_field(rules, [&](const char* name, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      stored.field(name, value);
    } else if constexpr (std::is_same_v<Value, double>) {
      stored.number(name, value);
    } else {
      stored.count(name, value);
    }
  });
};

const auto describe_origin = [](auto& stored, auto& origin) {
  stored.field("files", origin.files);
  stored.template word<Split>(
      "split", origin.split,
      {{"train", Split::train}, {"validation", Split::validation}, {"test", Split::test}});
  stored.number("weight", origin.weight);
  stored.map("counts", origin.counts, describe_counts);
};

void describe_corpus(auto& stored, auto& about) {
  stored.field("name", about.name);
  stored.field("source", about.source);
  stored.field("licence", about.licence);
  stored.field("command", about.command);
  stored.map("languages", about.languages, [](auto& inner, auto& languages) {
    inner.field("source", languages.source);
    inner.field("target", languages.target);
  });
  stored.hash("fingerprint", about.fingerprint);
  stored.field("joint_vocabulary", about.joint_vocabulary);
  if (stored.holds("text_fingerprint", about.text_fingerprint)) {
    stored.hash("text_fingerprint", *about.text_fingerprint);
  }
  stored.map("tokenizers", about.tokenizers, [](auto& inner, auto& tokenizers) {
    for (const Side side : kSides) {
      inner.map(std::string(to_string(side)).c_str(), tokenizers[side],
                [](auto& facts, auto& tokenizer) {
                  facts.hash("fingerprint", tokenizer.fingerprint);
                  facts.field("description", tokenizer.description);
                  facts.count("vocabulary_size", tokenizer.vocabulary_size);
                });
    }
  });
  stored.number("validation_fraction", about.validation_fraction);
  stored.number("test_fraction", about.test_fraction);
  stored.count("seed", about.seed);
  stored.map("rules", about.rules, describe_rules);
  stored.list("origins", about.origins, describe_origin);
  stored.map("splits", about, [](auto& inner, auto& of) {
    for (const Split split : kSplits) {
      inner.map(std::string(to_string(split)).c_str(), of[split], [&](auto& one, auto& of_split) {
        describe_parallel_split(one, of_split, split != Split::train);
      });
    }
  });
}

}  // namespace

void write_description(const Description& about, const fs::path& folder) {
  StoredWriter stored;
  stored.object = {{"format", kParallelFormat}, {"version", kParallelVersion}};
  describe_corpus(stored, about);
  write_checksummed_json(folder / kParallelFile, stored.object);
}

Description read_parallel_description(const fs::path& folder) {
  const std::string file = (folder / kParallelFile).string();
  const nlohmann::json json = read_dataset_json(folder, "RECIPE");
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
  Description about;
  StoredReader stored(JsonFields(json, file, kPrepareAgain));
  describe_corpus(stored, about);
  return about;
}

ParallelDataset::ParallelDataset(const fs::path& folder)
    : folder_(folder), description_(read_parallel_description(folder)) {
  for (const Side side : kSides) {
    if (description_.joint_vocabulary) {
      tokenizers_[side] = side == Side::source ? load_tokenizer(folder) : tokenizers_[Side::source];
    } else {
      tokenizers_[side] = load_tokenizer(folder / to_string(side));
    }
    if (description_.tokenizers[side].fingerprint != tokenizers_[side]->fingerprint()) {
      throw_failure(folder.string(),
                    fmt::format("was prepared with another {} tokenizer than the one inside",
                                to_string(side)),
                    kPrepareAgain);
    }
  }
  for (const Split split : kSplits) open_split(split);
}

void ParallelDataset::open_split(Split split) {
  OfSplit& opened = splits_[split];
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
      const fs::path path = folder_ / parallel_shard_name(split, side, number);
      const Shard& shard = opened.shards[side].emplace_back(path);
      shard.require(vocabulary_of(tokenizer(side)), described[side].shard_checksums[number]);
      const std::uint64_t sources = opened.shards[0][number].documents();
      if (shard.documents() == sources) continue;
      throw_failure(path.string(),
                    fmt::format("has {} sentences, its source {}", shard.documents(), sources),
                    kPrepareAgain);
    }
    opened.starts.push_back(opened.starts.back() +
                            static_cast<std::int64_t>(opened.shards[0].back().documents()));
  }
  for (const Side side : kSides) {
    std::uint64_t tokens = 0;
    for (const Shard& shard : opened.shards[side]) {
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

std::int64_t ParallelDataset::sentences(Split split) const {
  return splits_[split].starts.back();
}

void ParallelDataset::require_sentences(Split split) const {
  if (sentences(split) > 0) return;
  const std::string set(to_string(split));
  throw_usage("--split", fmt::format("{} has no {} set", folder_.string(), set),
              fmt::format("prepare it with --{} or --{}-fraction", set, set));
}

std::size_t ParallelDataset::shards(Split split) const {
  return splits_[split].shards[0].size();
}

ParallelDataset::Location ParallelDataset::locate(Split split, std::int64_t i) const {
  const std::vector<std::int64_t>& starts = splits_[split].starts;
  ROFORMER_ASSERT(i >= 0 && i < starts.back());
  const auto after = std::ranges::upper_bound(starts, i);
  const auto shard = static_cast<std::size_t>(after - starts.begin() - 1);
  return {.shard = shard, .document = static_cast<std::size_t>(i - starts[shard])};
}

std::int64_t ParallelDataset::length(Split split, Side side, std::int64_t i) const {
  const Location at = locate(split, i);
  const auto starts = splits_[split].shards[side][at.shard].document_starts();
  return static_cast<std::int64_t>(starts[at.document + 1] - starts[at.document]);
}

std::vector<std::int32_t> ParallelDataset::lengths(Split split, Side side) const {
  std::vector<std::int32_t> lengths;
  lengths.reserve(static_cast<std::size_t>(sentences(split)));
  for (const Shard& shard : splits_[split].shards[side]) {
    const auto starts = shard.document_starts();
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      lengths.push_back(static_cast<std::int32_t>(starts[i + 1] - starts[i]));
    }
  }
  return lengths;
}

std::vector<TokenId> ParallelDataset::sentence(Split split, Side side, std::int64_t i) const {
  const Location at = locate(split, i);
  const Shard& shard = splits_[split].shards[side][at.shard];
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
  for (const std::string_view line : split_at(contents, '\n')) lines.emplace_back(line);
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
      for (const Shard& shard : splits_[split].shards[side]) {
        shard.verify_checksum();
      }
      if (split != Split::train) text(split, side);
    }
  }
}

SentenceTokens sentence_tokens(const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  if (special.separator < 0) {
    throw_usage(
        "tokenizer", tokenizer.description() + " has no token that ends a sentence",
        "train one with `roformer tokenizer train`, or take a vocabulary with </s> or [SEP]");
  }
  SentenceTokens tokens{.begin = special.classification, .end = special.separator};
  if (tokens.begin < 0) tokens.begin = special.padding;
  if (tokens.begin < 0) tokens.begin = special.separator;
  return tokens;
}

}  // namespace roformer
