// Recipes: a YAML file of data/ that says where a corpus comes from, under which licence, where its
// raw files lie on this machine and how they are read and split. data/README.md lists the keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/recipe_reader.h"

namespace roformer {

struct Recipe : RecipeOrigin {
  CorpusOptions corpus;
  std::vector<std::filesystem::path> validation_files;  // empty: chosen from the corpus
  std::vector<std::filesystem::path> test_files;        // likewise
  double validation_fraction = 0.2;
  double test_fraction = 0;
  ByteShares shares;  // in place of files and fractions
};

// Paths are relative to the recipe, and `files`, where there are any, stand in for the recipe's own
// training text. Throws Error (usage) with all that is wrong with it, each with
// file:line, and Error (failure) with the way to fetch them when the raw files are not there.
Recipe read_recipe(const std::filesystem::path& path,
                   const std::vector<std::filesystem::path>& files = {});

// What a command that reads text was given: one recipe (a name that ends in .yaml or .yml), or
// files and folders of text. Nothing for the latter.
std::optional<std::filesystem::path> recipe_among(
    const std::vector<std::filesystem::path>& arguments);

}  // namespace roformer
