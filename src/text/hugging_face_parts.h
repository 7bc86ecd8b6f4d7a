// The parts of a tokenizer.json that depend on the kind of tokenizer.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/hugging_face_json.h"
#include "text/tokenizer.h"

namespace roformer {

struct HuggingFaceParts {
  nlohmann::ordered_json normalizer = {};
  nlohmann::ordered_json pre_tokenizer = {};
  nlohmann::ordered_json model = {};  // null: the format cannot express the tokenizer
  nlohmann::ordered_json decoder = {};
  std::vector<AddedToken> added = {};  // by id
  std::vector<std::string> notes = {};
};

// Steps of a normalizer or decoder that replace a regular expression, or a text, by a text.
nlohmann::ordered_json replace_pattern(const std::string& regex, const std::string& content);
nlohmann::ordered_json replace_text(const std::string& text, const std::string& content);

// The step that turns text into bytes, cut into words as GPT-2 does or not; also the decoder.
nlohmann::ordered_json byte_level_json(bool cuts_words);

// Pieces and their ids. Append with emplace_back: any other way to add a member compares it with
// all the others.
using PieceIds = nlohmann::ordered_json::object_t;

// A byte-pair model. `merges` holds pairs of pieces, the most important first.
nlohmann::ordered_json byte_pair_json(PieceIds vocabulary, nlohmann::ordered_json merges);

// The whole file, and its text. `post_processor`: see template_json.
nlohmann::ordered_json document_json(HuggingFaceParts parts, nlohmann::ordered_json post_processor);
std::string document_of(HuggingFaceParts parts, nlohmann::ordered_json post_processor);

// The step that puts the tokens of a frame around a text; null if there is none. `piece` gives the
// piece of an id.
nlohmann::ordered_json template_json(const std::function<std::string(TokenId)>& piece,
                                     const TextFrame& frame);

// For a tokenizer of kind `sentencepiece`.
HuggingFaceParts sentencepiece_parts(const Tokenizer& tokenizer);

}  // namespace roformer
