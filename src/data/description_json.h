// The parts of dataset.json that the journal of a preparation holds, too, for StoredWriter and
// StoredReader.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/stored_fields.h"
#include "data/dataset.h"
#include "data/parallel_dataset.h"

namespace roformer {

inline constexpr std::pair<const char*, std::uint64_t SplitCounts::*> kSplitCounts[] = {
    {"documents", &SplitCounts::documents},
    {"tokens", &SplitCounts::tokens},
    {"characters", &SplitCounts::characters},
    {"bytes", &SplitCounts::bytes},
    {"unknown", &SplitCounts::unknown}};

// `with_unknown` is false for the first version of dataset.json, which did not count unknown
// pieces.
void describe_split(auto& stored, auto& split, bool with_unknown = true) {
  for (const auto& [name, count] : kSplitCounts) {
    if (count != &SplitCounts::unknown || with_unknown) stored.count(name, split.counts.*count);
  }
  stored.hashes("shards", split.shard_checksums);
}

// `with_text` is true for validation and test sets, whose text is stored.
void describe_parallel_split(auto& stored, auto& split, bool with_text) {
  stored.count("sentences", split.sentences);
  for (const Side which : kSides) {
    stored.map(std::string(to_string(which)).c_str(), split[which], [&](auto& inner, auto& side) {
      inner.count("tokens", side.tokens);
      inner.count("unknown", side.unknown);
      inner.count("words", side.words);
      inner.count("characters", side.characters);
      inner.count("longest", side.longest);
      inner.hashes("shards", side.shard_checksums);
      if (with_text) inner.hash("text", side.text_checksum);
    });
  }
}

}  // namespace roformer
