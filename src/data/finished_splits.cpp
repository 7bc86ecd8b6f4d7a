#include "data/finished_splits.h"

#include <nlohmann/json.hpp>

#include "base/hexadecimal.h"
#include "data/description_json.h"

namespace roformer {

nlohmann::ordered_json to_json(const FinishedSplits& finished) {
  nlohmann::ordered_json json;
  for (const Split split : kSplits) {
    const FinishedShards& shards = finished[static_cast<std::size_t>(split)];
    json[std::string(to_string(split))] = {{"documents_of_corpus", shards.documents},
                                           {"text", hexadecimal(shards.text)},
                                           {"so_far", to_json(shards.so_far)}};
  }
  return json;
}

FinishedSplits recover_splits(const PreparationJournal& journal) {
  FinishedSplits finished;
  const bool whole = journal.recover([&](const JsonFields& state) {
    std::vector<FinishedShard> shards;
    for (const Split split : kSplits) {
      const JsonFields fields = state.object(std::string(to_string(split)));
      FinishedShards& of_split = finished[static_cast<std::size_t>(split)];
      of_split = {.so_far = split_from_json(fields.object("so_far")),
                  .documents = fields.unsigned_count("documents_of_corpus"),
                  .text = fields.hash("text")};
      const std::vector<std::uint64_t>& checksums = of_split.so_far.shard_checksums;
      for (std::size_t i = 0; i < checksums.size(); ++i) {
        shards.push_back({.name = shard_name(split, i), .checksum = checksums[i]});
      }
    }
    return shards;
  });
  return whole ? finished : FinishedSplits{};
}

}  // namespace roformer
