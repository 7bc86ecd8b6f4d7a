#include "data/finished_pairs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/hexadecimal.h"
#include "data/description_json.h"

namespace roformer {
namespace {

// The rules that need a tokenizer.
constexpr std::array kRulesAboutPieces = {PairRule::too_many_pieces, PairRule::length_ratio};

std::vector<std::pair<std::uint64_t, PairRule>> removed_from_json(const JsonFields& fields) {
  std::vector<std::pair<std::uint64_t, PairRule>> removed;
  for (const PairRule rule : kRulesAboutPieces) {
    const std::string name(to_string(rule));
    for (const nlohmann::json& number : fields.list(name)) {
      if (!number.is_number_unsigned()) fields.refuse(name, "a list of numbers of pairs");
      removed.emplace_back(number.get<std::uint64_t>(), rule);
    }
  }
  std::ranges::sort(removed);
  return removed;
}

}  // namespace

nlohmann::ordered_json to_json(const FinishedPairs& finished) {
  nlohmann::ordered_json removed;
  for (const PairRule rule : kRulesAboutPieces) {
    removed[std::string(to_string(rule))] = nlohmann::ordered_json::array();
  }
  for (const auto& [number, rule] : finished.removed) {
    removed[std::string(to_string(rule))].push_back(number);
  }
  return {{"pairs", finished.pairs},
          {"text", hexadecimal(finished.text)},
          {"so_far", to_json(finished.so_far, /*with_text=*/false)},
          {"removed", removed}};
}

FinishedPairs recover_pairs(const PreparationJournal& journal) {
  FinishedPairs finished;
  const bool whole = journal.recover([&](const JsonFields& state) {
    finished = {.pairs = state.unsigned_count("pairs"),
                .text = state.hash("text"),
                .so_far = parallel_split_from_json(state.object("so_far"), /*with_text=*/false),
                .removed = removed_from_json(state.object("removed"))};
    std::vector<FinishedShard> shards;
    for (const Side side : kSides) {
      const std::vector<std::uint64_t>& checksums = finished.so_far[side].shard_checksums;
      for (std::size_t i = 0; i < checksums.size(); ++i) {
        shards.push_back(
            {.name = parallel_shard_name(Split::train, side, i), .checksum = checksums[i]});
      }
    }
    return shards;
  });
  return whole ? finished : FinishedPairs{};
}

}  // namespace roformer
