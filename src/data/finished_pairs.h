// How far the training set of a parallel corpus in the making is: what its finished shards hold.
// Validation and test sets are small and begin anew.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "data/pair_rules.h"
#include "data/parallel_description.h"
#include "data/preparation_journal.h"

namespace roformer {

struct FinishedPairs {
  // The training pairs among the first so many that passed the rules about text are in the shards,
  // or were removed by those about pieces.
  std::uint64_t pairs = 0;
  std::uint64_t text = 0;                    // hash of so many pairs
  ParallelDescription::OfSplit so_far = {};  // the training set
  // Numbers of the removed ones, ascending, each with its rule.
  std::vector<std::pair<std::uint64_t, PairRule>> removed = {};
};

nlohmann::ordered_json to_json(const FinishedPairs& finished);
// What the journal says; nothing finished where there is nothing to go on with.
FinishedPairs recover_pairs(const PreparationJournal& journal);

}  // namespace roformer
