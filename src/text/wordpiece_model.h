// What a WordPiece tokenizer is made of. BERT's two ways, cased and uncased, are a vocab.txt; one
// that cuts text otherwise, or has added tokens, is kept as one file of JSON (wordpiece.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bert_normalization.h"

namespace roformer {

struct WordPieceModel {
  std::string vocabulary;  // a vocab.txt: one entry a line, the line's number is the id
  BertRules rules;
  std::vector<AddedToken> added;  // by id
};

// The entries of a vocab.txt, without the white space at the end of a line: Hugging Face's
// tokenizers and Google's BERT read them so.
std::vector<std::string> vocabulary_lines(std::string_view contents);

// Whether a vocab.txt and "cased" or "uncased" say all of it.
bool is_plain_bert(const WordPieceModel& model);

// The contents of its file: the vocabulary where that says all, else JSON.
std::string wordpiece_contents(const WordPieceModel& model);

// Whether the contents are such JSON, and what they say. Throws Error naming the location when a
// field is missing or wrong.
bool is_wordpiece_model(std::string_view contents);
WordPieceModel parse_wordpiece_model(std::string_view contents, const std::string& location);

}  // namespace roformer
