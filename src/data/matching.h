// Texts to match: triplets (A, B, C), of which one of B and C is closer to A, or pairs of texts
// that match or do not. A folder of them has train, validation and test, each as JSON lines or
// TSV. Triplets have the fields of CAIL2019-SCM (Xiao et al. 2019), pairs those of other tasks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/matching_settings.h"
#include "data/split.h"
#include "data/text_lines.h"

namespace roformer {

struct MatchingExample {
  std::int64_t line = 0;  // of the file, from 1
  std::string anchor;     // A
  std::string closer;     // of a pair: its second text
  std::string farther;    // of a pair: empty
  bool matches = true;    // of a pair
  bool swapped = false;   // of a triplet: C was the closer one
};

struct MatchingExamples {
  std::vector<MatchingExample> examples;
  bool triplets = true;
  std::int64_t header = 0;  // the line of the columns' names; 0: none

  std::int64_t texts_per_example() const { return triplets ? 2 : 1; }  // that are compared
};

// SPLIT.jsonl with one object a line: {"A", "B", "C"} and "label", "B" or "C", the closer one (B
// where there is no label), or {"sentence1", "sentence2", "label"} with 1 for a match and 0. Or
// SPLIT.tsv with a line of these names first. Throws Error (failure) naming file:line for what is
// neither, a text that is missing or empty, and another label; (usage) for a split that is not
// there.
MatchingExamples read_matching(const std::filesystem::path& directory, Split split);
// One such file, or "-" for standard input; where `label` is missing, B and 1 are taken. With
// `skip_broken` lines of JSON Lines that are no objects are left out.
MatchingExamples read_matching_file(const std::filesystem::path& file,
                                    TextFormat format = TextFormat::automatic,
                                    bool skip_broken = false);
// The file of a split. Throws Error (usage) where there is none.
std::filesystem::path find_matching_file(const std::filesystem::path& directory, Split split);
bool has_matching_split(const std::filesystem::path& directory, Split split);

// The triplets with those that the settings add: (B, A, C) where B is closer to A than C is; and
// (A, B, D) where B is closer than C and C closer than D, unless the triplets say the contrary.
std::vector<MatchingExample> augmented(std::vector<MatchingExample> triplets,
                                       const AugmentationSettings& settings);

// One line of a file of triplets, with its line end.
std::string triplet_line(const MatchingExample& triplet);

}  // namespace roformer
