// tokenizer.json of Hugging Face's tokenizers, where it holds a byte-level BPE (GPT-2, GPT-NeoX,
// Llama 3, Qwen, ModernBERT, ...): vocabulary and merges, how text is normalised and cut, added
// tokens, and which tokens are put around a text. A pure function over text that trusts nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/byte_pair_merges.h"
#include "text/tokenizer.h"

namespace roformer {

// One step that cuts text into words.
struct CuttingStep {
  bool prefix_space = false;  // a text that does not begin with a space gets one first
  std::string pattern;        // of SplitPattern; empty: nothing is cut
  bool drops_matches = false;
  bool drops_rest = false;
};

struct ByteLevelFile {
  std::vector<std::string> pieces;  // of model and added tokens, by id; empty: no piece has the id
  std::vector<bool> in_model;       // for each of them
  std::vector<BytePairMerge> merges;
  bool whole_words_first = false;         // a word that is a piece is not put together by merges
  bool joins_unknown = false;             // unknown neighbours become one token
  std::vector<std::string> normal_forms;  // "NFC", ..., one after the other
  std::vector<CuttingStep> steps;
  std::vector<AddedToken> added;
  TokenId model_unknown = -1;  // for a byte without a piece; -1: none
  TokenId text_start = -1;     // the token that its template puts before a text; -1: none
  SpecialTokens special;
};

// Throws Error (failure, `location`) for what is not such a tokenizer, for one with a part that is
// not known here, and for ids and merges that contradict each other.
ByteLevelFile parse_byte_level_file(std::string_view text, const std::string& location);

// Whether the text looks like such a file: JSON with merges and bytes as letters.
bool is_byte_level_file(std::string_view text);

}  // namespace roformer
