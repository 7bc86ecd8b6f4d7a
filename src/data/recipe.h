// Recipes: a YAML file of data/ that says where a corpus comes from, its licence, where its raw
// files are on this machine, and how to read and split them. data/README.md lists the keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/yaml_fields.h"
#include "data/corpus.h"

namespace roformer {

// The keys that recipes of every kind have.
struct RecipeOrigin {
  std::string name;
  std::string description;
  std::string source;
  std::string licence;
  std::vector<std::string> packages;  // of the distribution, that hold the corpus
  std::string fetch;                  // the command that brings the raw files
  // Lines "name, version, licence" of the packages, apart by tabs; empty: there is no such list.
  std::filesystem::path package_list;
};

struct Recipe : RecipeOrigin {
  CorpusOptions corpus;
  std::vector<std::filesystem::path> validation_files;  // empty: chosen from the corpus
  std::vector<std::filesystem::path> test_files;        // empty: chosen from the corpus
  double validation_fraction = 0.2;
  double test_fraction = 0;
  ByteShares shares;  // in place of files and fractions
};

// Paths are relative to the recipe. If `files` are given, they replace the recipe's training text.
// Throws Error (usage) with every problem of the recipe at its file:line, and Error (failure) with
// the way to fetch the raw files if they are missing.
Recipe read_recipe(const std::filesystem::path& path,
                   const std::vector<std::filesystem::path>& files = {});

// The recipe among the arguments of a command that reads text: one file whose name ends in .yaml or
// .yml. Empty for files and folders of text.
std::optional<std::filesystem::path> recipe_among(
    const std::vector<std::filesystem::path>& arguments);

// For readers of other kinds of recipes: the file's map. Throws Error (usage) if the file is no
// YAML or no map: "is not a recipe".
YAML::Node parse_recipe(const std::filesystem::path& path, const std::string& what = "a recipe");
// Reads the map and throws Error (usage) with all its problems.
void read_recipe_fields(const std::filesystem::path& path, const YamlFields::Read& read,
                        const std::string& what = "a recipe");
void read_origin(const YamlFields& fields, RecipeOrigin& origin);
// Adds the licence of each package in the list to the licence of the whole. Throws Error (failure)
// naming FILE:LINE for a line without its three columns.
void add_package_licences(RecipeOrigin& origin);
// Throws Error (failure) naming the first missing file and how to `fetch` it.
void require_raw_files(const std::filesystem::path& recipe, const std::string& fetch,
                       const std::vector<std::filesystem::path>& files);

}  // namespace roformer
