// The flags of `roformer data prepare` for sentence pairs, and the work that it does with them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/cores.h"
#include "base/file.h"
#include "base/origin.h"
#include "cli/corpus_flags.h"
#include "cli/tokenizer_flags.h"
#include "data/parallel_recipe.h"

namespace roformer {

struct ParallelFlags {
  std::vector<std::string> languages;  // two of them, or none
  TokenizerFlags target_tokenizer;
  std::int64_t pieces = 0;  // size of a vocabulary to train; 0: the recipe's
  bool separate = false;
  PairRules rules;
};

// The flags of `data prepare` that apply to every kind of data.
struct PrepareFlags {
  CorpusFlags corpus;
  std::vector<std::filesystem::path> validation;
  std::vector<std::filesystem::path> test;
  double validation_fraction = -1;  // negative: the recipe's, or the default without a recipe
  double test_fraction = -1;
  std::uint64_t seed = 1;
  std::int64_t threads = 0;  // 0: all cores
  std::uint64_t shard_tokens = std::uint64_t{1} << 27;
  std::filesystem::path output;
  bool overwrite = false;
  TokenizerFlags tokenizer;

  // Sets the members that the options of text and of sentence pairs share.
  template <class Options>
  void set_output(Options& options, const RecipeOrigin& origin) const {
    options.output = output;
    options.overwrite = overwrite;
    options.threads = threads > 0 ? threads : usable_threads();
    options.shard_tokens = shard_tokens;
    options.name = origin.name;
    options.source = origin.source;
    options.licence = origin.licence;
    options.command = command_line();
    if (!origin.name.empty()) return;
    options.name = folder_name(output);
    if (origin.source.empty()) options.source = input_names();
  }
  std::string input_names() const;
};

void add_parallel_flags(CLI::App& command, ParallelFlags& flags);

// Whether the command line asks for sentence pairs, with --languages or with its recipe.
bool wants_pairs(const ParallelFlags& flags, const PrepareFlags& common);
// Throws Error (usage), which names the first of these flags that was given.
void refuse_parallel_flags(const CLI::App& command);

// The corpus of the recipe or of the files; given flags replace the recipe's values.
ParallelRecipe parallel_recipe_of(const CLI::App& command, const ParallelFlags& flags,
                                  const PrepareFlags& common);
// Prepares the corpus and prints the result.
void prepare_parallel(const CLI::App& command, const ParallelFlags& flags,
                      const PrepareFlags& common);

}  // namespace roformer
