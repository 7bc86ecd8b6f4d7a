// Recipes of parallel corpora: a YAML file of data/ that says where sentence pairs come from, which
// rules they must pass and what vocabulary they get. A recipe with the key `languages` is one;
// data/README.md lists the keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/prepare_pairs.h"
#include "data/recipe.h"

namespace roformer {

struct ParallelRecipe : RecipeOrigin {
  ParallelCorpus corpus;
  std::optional<PairVocabulary> vocabulary;  // to make where no tokenizer is named
};

// Whether the file is a recipe of a parallel corpus. Throws Error (usage) where it is no recipe.
bool is_parallel_recipe(const std::filesystem::path& path);

// Paths are relative to the recipe. Throws Error (usage) with all that is wrong with it, each with
// file:line, and Error (failure) with the way to fetch them when the raw files are not there.
ParallelRecipe read_parallel_recipe(const std::filesystem::path& path);

// What a command line names: files of pairs (by their names TSV, JSON lines or TMX) each for
// itself, other files and folders two and two, one a language. Throws Error (usage) for one too
// few.
std::vector<PairSource> pair_sources_of(const std::vector<std::filesystem::path>& files);

}  // namespace roformer
