// Recipes: a YAML file of data/ that says where a corpus comes from, under which licence, where its
// raw files lie on this machine and how they are read and split. data/README.md lists the keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.h"

namespace roformer {

struct Recipe {
  std::string name;
  std::string description;
  std::string source;
  std::string licence;
  std::vector<std::string> packages;  // of the distribution, that hold the corpus
  std::string fetch;                  // the command that brings the raw files
  CorpusOptions corpus;
  std::vector<std::filesystem::path> validation_files;  // empty: chosen from the corpus
  double validation_fraction = 0.2;
};

// Paths are relative to the recipe. Throws Error (usage) with all that is wrong with it, each with
// file:line, and Error (failure) with the way to fetch them when the raw files are not there.
Recipe read_recipe(const std::filesystem::path& path);

// What a command that reads text was given: one recipe (a name that ends in .yaml or .yml), or
// files and folders of text. Nothing for the latter.
std::optional<std::filesystem::path> recipe_among(
    const std::vector<std::filesystem::path>& arguments);

}  // namespace roformer
