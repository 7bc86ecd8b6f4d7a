// tokenizer.json of Hugging Face's tokenizers with a byte-pair encoding or a unigram model: of
// bytes (GPT-2, GPT-NeoX, Llama 3, Qwen, ModernBERT, Falcon, BLOOM, ...) or as SentencePiece has
// them (Llama 2, Mistral, Gemma, XLM-R, CamemBERT, T5, ...). It holds the vocabulary, how to
// normalise and cut text, added tokens, and which tokens to put around a text. The parser is a pure
// function over text and trusts nothing in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/piece_decoder.h"
#include "text/text_cutting.h"
#include "text/text_normalization.h"
#include "text/tokenizer.h"
#include "text/word_splitter.h"

namespace roformer {

struct ByteLevelFile {
  std::vector<std::string> pieces;  // of model and added tokens, by id; empty: no piece has the id
  TextNormalization normalization;
  TextCutting cutting;
  std::unique_ptr<WordSplitter> model;
  PieceDecoder decoder;
  std::string marker;  // the character that pieces have for a space; empty: none, or bytes
  std::vector<AddedToken> added;
  TokenId text_start = -1;  // the token that its template puts before a text; -1: none
  SpecialTokens special;
};

// Throws Error (failure, `location`) for a text that is not such a tokenizer, for an unknown part,
// and for ids and merges that contradict each other.
ByteLevelFile parse_byte_level_file(std::string_view text, const std::string& location);

// Whether the text looks like such a file: JSON with merges or a unigram model.
bool is_byte_level_file(std::string_view text);

}  // namespace roformer
