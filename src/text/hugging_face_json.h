// tokenizer.json, the one file in which Hugging Face's tokenizers keep a whole tokenizer, written
// from a tokenizer of this program. The file gives every text the ids that encode_prompt() gives:
// the names of special tokens in a text are those tokens.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// The tokens that a model has around a text; -1: none.
struct TextFrame {
  TokenId before = -1;
  TokenId after = -1;
  bool before_second = false;  // `before` also begins the second text of a pair
};

struct HuggingFaceJson {
  std::string contents;            // empty: the format cannot express the tokenizer
  std::vector<std::string> notes;  // on differences and on what is missing, one sentence each
};

HuggingFaceJson hugging_face_json(const Tokenizer& tokenizer, const TextFrame& frame);

// The contents of tokenizer_config.json beside it: the special tokens by their roles.
std::string hugging_face_config(const Tokenizer& tokenizer);
// Sets unk_token, sep_token, pad_token, cls_token and mask_token, as far as the vocabulary has
// them.
void add_special_names(const Tokenizer& tokenizer, nlohmann::ordered_json& config);

// The usual frame of an encoder, [CLS] before a text and [SEP] after it, as far as the vocabulary
// has them.
TextFrame encoder_frame(const Tokenizer& tokenizer);

}  // namespace roformer
