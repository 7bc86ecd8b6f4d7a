// Texts to match. A triplet (A, B, C) says which of B and C is closer to A; a pair of texts matches
// or does not. A folder of them has train, validation and test, each as JSON lines or TSV. Triplets
// have the fields of CAIL2019-SCM (Xiao et al. 2019), pairs the fields of other tasks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/matching_settings.h"
#include "data/record_reader.h"
#include "data/split.h"

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

// Reads a split from SPLIT.jsonl or SPLIT.tsv. SPLIT.jsonl has one object per line. A triplet is
// {"A", "B", "C"} and "label", which is "B" or "C" for the closer text (B if there is no label). A
// pair is {"sentence1", "sentence2", "label"} with label 1 for a match, else 0. SPLIT.tsv has the
// same columns and begins with a line of their names. Throws Error (failure) naming file:line for
// any other line, a missing or empty text, or another label; (usage) for a missing split.
MatchingExamples read_matching(const std::filesystem::path& directory, Split split);
// Reads one such file, or standard input ("-"). A missing `label` means B or 1. With `skip_broken`,
// leaves out lines of JSON Lines that are not objects.
MatchingExamples read_matching_file(const std::filesystem::path& file,
                                    TextFormat format = TextFormat::automatic,
                                    bool skip_broken = false);
// The file of a split. Throws Error (usage) if there is none.
std::filesystem::path find_matching_file(const std::filesystem::path& directory, Split split);
bool has_matching_split(const std::filesystem::path& directory, Split split);

// The triplets and those that the settings add: (B, A, C) if B is closer to A than C is; and (A, B,
// D) if B is closer than C and C closer than D, unless the triplets contradict it.
std::vector<MatchingExample> augmented(std::vector<MatchingExample> triplets,
                                       const AugmentationSettings& settings);

// One line of a file of triplets, including the line end.
std::string triplet_line(const MatchingExample& triplet);

}  // namespace roformer
