// Tokenizers that other programs keep in other files than tokenizer.json, read as the
// tokenizer.json that Hugging Face's converters make of them: vocab.json with merges.txt (GPT-2,
// RoBERTa), and the ranks of tiktoken. The program then has one reader and one file for all of
// them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"

namespace roformer {

// The contents of a tokenizer's file. For a vocab.json or merges.txt with the other one beside it,
// and for a file of tiktoken, those of the tokenizer.json. Throws Error (failure) for files that
// contradict each other, and for ranks whose pattern is not known.
std::string read_tokenizer_file(const std::filesystem::path& file);

// Whether a folder has a vocab.json with merges.txt.
bool has_vocabulary_and_merges(const std::filesystem::path& folder);

struct VocabularyAndMerges {
  std::string vocabulary, merges;  // the contents of vocab.json and merges.txt
  std::string location;            // named in errors
  std::vector<AddedToken> added;   // by id; names that a vocabulary usually has need not be here
  bool prefix_space = false;       // puts a space before a text
};
// A pure function. Vocabularies with "<s>" and "</s>" put these around a text, as RoBERTa does.
std::string tokenizer_json_of(const VocabularyAndMerges& files);

// Lines of a piece's bytes in base64 and its rank, which is its id.
bool is_tiktoken_file(std::string_view contents);
// A pure function. `encoding`: "r50k_base", "p50k_base", "cl100k_base", "o200k_base", a text with
// such a name in it, or the regular expression that cuts text.
std::string tokenizer_json_of_tiktoken(std::string_view ranks, std::string_view encoding,
                                       const std::string& location);

}  // namespace roformer
