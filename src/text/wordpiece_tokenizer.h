// BERT's WordPiece: the text is cleaned and split into words (bert_normalization.h), each word is
// then covered greedily by the longest vocabulary entries; "##" marks an entry that continues a
// word. A word of more than 100 characters, or one that cannot be covered, becomes [UNK]. Added
// tokens are found before the text is split.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"
#include "text/bert_normalization.h"
#include "text/tokenizer.h"

namespace roformer {

inline constexpr std::string_view kContinuation = "##";

// The contents of a WordPiece tokenizer. BERT's two variants, cased and uncased, need only a
// vocab.txt. A model that cuts text in another way, or has added tokens, is kept as one JSON file
// (wordpiece.json).
struct WordPieceModel {
  std::string vocabulary;  // a vocab.txt: one entry a line, the line's number is the id
  BertRules rules;
  std::vector<AddedToken> added;  // by id
};

// The entries of a vocab.txt, without the white space at the end of a line: Hugging Face's
// tokenizers and Google's BERT read them so.
std::vector<std::string> vocabulary_lines(std::string_view contents);

// The contents of its file: the vocabulary if that describes it completely, else JSON.
std::string wordpiece_contents(const WordPieceModel& model);

// Whether the contents are such JSON, and its values. Throws Error naming the location if a field
// is missing or wrong.
bool is_wordpiece_model(std::string_view contents);
WordPieceModel parse_wordpiece_model(std::string_view contents, const std::string& location);

// True if the contents look like a vocabulary: text with a line "[UNK]".
bool is_wordpiece_vocabulary(std::string_view contents);

struct WordPieceOptions {
  std::string contents;  // of a vocab.txt, or wordpiece_contents() of a model
  bool cased = false;    // of a vocab.txt; false: lower case without accents
  std::string location;  // named in errors
};

// Throws Error if the contents are not a vocabulary.
std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceOptions options);

// The contents of a tokenizer of kind `wordpiece`, for folders of other programs.
WordPieceModel wordpiece_model(const Tokenizer& tokenizer);

}  // namespace roformer
