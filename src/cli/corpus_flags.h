// The arguments of commands that read text: a recipe, or files and the way to read them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "data/recipe.h"

namespace roformer {

struct CorpusFlags {
  std::vector<std::filesystem::path> inputs;
  std::string reader;                        // empty: the recipe's, or auto without a recipe
  std::string text_field;                    // empty: the recipe's, or "text" without a recipe
  std::vector<std::filesystem::path> files;  // replace the recipe's files
  std::vector<std::string> include;
  bool skip_binary = false;
  bool follow_links = false;  // also applies to folders of sentence pairs
  bool skip_broken = false;
};

void add_corpus_flags(CLI::App& command, CorpusFlags& flags);

// Returns the first given flag that concerns running text, "" if there is none.
std::string first_text_flag(const CorpusFlags& flags);

// Returns the recipe among the inputs, or an unnamed recipe whose corpus is the inputs. Throws as
// read_recipe does.
Recipe recipe_of(const CorpusFlags& flags);

}  // namespace roformer
