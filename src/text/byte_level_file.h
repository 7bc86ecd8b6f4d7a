// tokenizer.json of Hugging Face's tokenizers with a byte-level BPE (GPT-2, GPT-NeoX, Llama 3,
// Qwen, ModernBERT, ...): vocabulary and merges, how to normalise and cut text, added tokens, and
// which tokens to put around a text. The parser is a pure function over text and trusts nothing in
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/tokenizer.h"

namespace roformer {

struct BytePairMerge {
  TokenId left = 0, right = 0, merged = 0;
};

// One step that cuts text into words.
struct CuttingStep {
  bool prefix_space = false;  // puts a space before a text that does not begin with one
  std::string pattern;        // of SplitPattern; empty: does not cut
  bool drops_matches = false;
  bool drops_rest = false;
};

struct ByteLevelFile {
  std::vector<std::string> pieces;  // of model and added tokens, by id; empty: no piece has the id
  std::vector<bool> in_model;       // for each of them
  std::vector<BytePairMerge> merges;
  bool whole_words_first = false;         // a word that is a piece is taken whole, without merges
  bool joins_unknown = false;             // unknown neighbours become one token
  std::vector<std::string> normal_forms;  // "NFC", ..., in the order of application
  std::vector<CuttingStep> steps;
  std::vector<AddedToken> added;
  TokenId model_unknown = -1;  // for a byte without a piece; -1: none
  TokenId text_start = -1;     // the token that its template puts before a text; -1: none
  SpecialTokens special;
};

// Throws Error (failure, `location`) for a text that is not such a tokenizer, for an unknown part,
// and for ids and merges that contradict each other.
ByteLevelFile parse_byte_level_file(std::string_view text, const std::string& location);

// Whether the text looks like such a file: JSON with merges and bytes as letters.
bool is_byte_level_file(std::string_view text);

}  // namespace roformer
