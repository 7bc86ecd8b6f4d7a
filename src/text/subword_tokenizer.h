// Byte-pair encoding as `subword-nmt` (Sennrich et al. 2016) and fastBPE apply it, with the codes
// and vocabulary that translation systems publish. Text is expected as those systems saw it:
// tokenised (by Moses' rules, say), words apart by spaces. A piece inside a word ends with the
// joiner "@@".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace roformer {

// The two files of a published system.
struct SubwordFiles {
  // One merge a line, "left right"; versions 0.1 and 0.2 of subword-nmt, or fastBPE's, whose lines
  // have a count as well.
  std::string codes;
  std::string codes_location;  // named in errors
  // One piece a line, "piece count", with its joiner. The order gives the ids.
  std::string vocabulary;
  std::string vocabulary_location;
  std::int64_t threshold = 0;  // pieces that are rarer are split into smaller ones
};

// Both as the contents of one model file (JSON). Throws Error naming file:line.
std::string subword_model(const SubwordFiles& files);

// True when the contents say that they are such a model file.
bool is_subword_model(std::string_view contents);

// Ids 0 to 3 are [PAD], [UNK], [CLS] (begins a sentence), [SEP] (ends it); the vocabulary follows.
// Throws Error naming the location when a field is missing or wrong.
std::unique_ptr<Tokenizer> make_subword_tokenizer(std::string contents,
                                                  const std::string& location);

}  // namespace roformer
