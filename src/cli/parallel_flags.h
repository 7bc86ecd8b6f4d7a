// The flags of `roformer data prepare` for sentence pairs, and what it does with them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/tokenizer_flags.h"
#include "data/parallel_recipe.h"

namespace roformer {

struct ParallelFlags {
  std::vector<std::string> languages;  // two, or none
  TokenizerFlags target_tokenizer;
  std::int64_t pieces = 0;  // of a vocabulary to train; 0: the recipe's
  bool separate = false;
  PairRules rules;
};

// What `data prepare` knows of its flags for every kind of text.
struct PrepareFlags {
  std::vector<std::filesystem::path> inputs;
  bool follow_links = false;
  std::vector<std::filesystem::path> validation;
  std::vector<std::filesystem::path> test;
  double validation_fraction = -1;  // negative: not given
  double test_fraction = -1;
  std::uint64_t seed = 1;
  std::int64_t threads = 1;
  std::uint64_t shard_tokens = 0;
  std::filesystem::path output;
  bool overwrite = false;
  bool skip_broken = false;  // lines of JSON Lines
  TokenizerFlags tokenizer;
};

void add_parallel_flags(CLI::App& command, ParallelFlags& flags);

// Whether the command line asks for sentence pairs: by --languages, or by its recipe.
bool wants_pairs(const ParallelFlags& flags, const PrepareFlags& common);
// Throws Error (usage) naming the first of these flags that was given.
void refuse_parallel_flags(const CLI::App& command);

// The corpus of the recipe, or of the files, with the flags that were given in place of its own.
ParallelRecipe parallel_recipe_of(const CLI::App& command, const ParallelFlags& flags,
                                  const PrepareFlags& common);
// Prepares it and prints what came of it.
void prepare_parallel(const CLI::App& command, const ParallelFlags& flags,
                      const PrepareFlags& common);

}  // namespace roformer
