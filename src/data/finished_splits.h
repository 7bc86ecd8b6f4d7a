// How far the splits of a data set in the making are: what its finished shards hold.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "data/dataset.h"
#include "data/preparation_journal.h"

namespace roformer {

struct FinishedShards {  // of one split
  DatasetDescription::OfSplit so_far = {};
  std::uint64_t documents = 0;  // those of the split among so many of the corpus are in them
  std::uint64_t text = 0;       // hash of the text of so many documents
};
using FinishedSplits = std::array<FinishedShards, kSplits.size()>;

nlohmann::ordered_json to_json(const FinishedSplits& finished);
// What the journal says; nothing finished where there is nothing to go on with.
FinishedSplits recover_splits(const PreparationJournal& journal);

}  // namespace roformer
