// The arguments of the commands that read text: a recipe, or files and how to read them.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "data/recipe.h"

namespace roformer {

struct CorpusFlags {
  std::vector<std::filesystem::path> inputs;
  std::string reader;                        // empty: the recipe's, else auto
  std::string text_field;                    // empty: the recipe's, else "text"
  std::vector<std::filesystem::path> files;  // in place of the recipe's
  std::vector<std::string> include;
  bool skip_binary = false;
  bool follow_links = false;  // also of folders of sentence pairs
  bool skip_broken = false;
};

void add_corpus_flags(CLI::App& command, CorpusFlags& flags);

// The first given flag that is about running text, "" where none is.
std::string first_text_flag(const CorpusFlags& flags);

// The recipe among the inputs, or one without a name whose corpus they are. Throws as read_recipe.
Recipe recipe_of(const CorpusFlags& flags);

}  // namespace roformer
