// Recipes of parallel corpora: a YAML file of data/ that says where sentence pairs come from, which
// rules they must pass and which vocabulary they get. A recipe with the key `languages` is one of
// these; data/README.md lists the keys.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "data/prepare_pairs.h"
#include "data/recipe.h"

namespace roformer {

struct ParallelRecipe : RecipeOrigin {
  ParallelCorpus corpus;
  std::optional<PairVocabulary> vocabulary;  // to make where no tokenizer is named
};

// Whether the file is a recipe of a parallel corpus. Throws Error (usage) if it is no recipe.
bool is_parallel_recipe(const std::filesystem::path& path);

// Paths are relative to the recipe. Throws Error (usage) with every problem of the recipe at its
// file:line. Throws Error (failure) with the way to fetch the raw files if they are missing.
ParallelRecipe read_parallel_recipe(const std::filesystem::path& path);

// The sources that a command line names. A file of pairs (TSV, JSON lines or TMX by its name) is
// one source. Two other files or folders, one per language, form a source together. Throws Error
// (usage) if the second one is missing.
std::vector<PairSource> pair_sources_of(const std::vector<std::filesystem::path>& files);

}  // namespace roformer
