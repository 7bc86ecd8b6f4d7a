// The common part of tokenizers with a vocabulary: the contents of their file, their pieces
// including the special ones, the repair of invalid text before it is split, and the JSON in which
// this program keeps its own vocabularies.
#pragma once

#include <algorithm>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/tokenizer.h"

namespace roformer {

class VocabularyTokenizer : public Tokenizer {
 public:
  using Tokenizer::encode;
  void encode(std::string_view raw, std::vector<TokenId>& ids) const final;
  void encode_prompt(std::string_view raw, std::vector<TokenId>& ids) const final;

  std::int64_t vocabulary_size() const final { return std::ssize(pieces_); }
  std::string piece(TokenId id) const final { return pieces_[index_of(id)]; }
  const SpecialTokens& special() const final { return special_; }
  TokenizerKind kind() const final { return kind_; }
  const std::string& file_contents() const final { return contents_; }
  std::string description() const override;  // the kind's name

 protected:
  std::vector<std::string> pieces_;  // by id
  SpecialTokens special_;

  VocabularyTokenizer(TokenizerKind kind, std::string contents)
      : kind_(kind), contents_(std::move(contents)) {}

  // Appends the ids of valid UTF-8. `names` says how to read the name of a special token in it.
  virtual void encode_text(std::string_view text, SpecialNames names,
                           std::vector<TokenId>& ids) const = 0;
  std::size_t index_of(TokenId id) const {
    ROFORMER_ASSERT(id >= 0 && id < vocabulary_size());
    return static_cast<std::size_t>(id);
  }

 private:
  TokenizerKind kind_;
  std::string contents_;
};

// True if the contents begin like a file of this format, {"format": FORMAT, ...}.
bool is_vocabulary_json(std::string_view contents, std::string_view format);
// Parses it. Throws Error (failure, `location`) for anything but JSON of this format, version 1.
nlohmann::json parse_vocabulary_json(std::string_view contents, std::string_view format,
                                     const std::string& location);

// The lines of a text, without their ends: calls action(line, its number from 1).
template <class Action>
void for_each_text_line(std::string_view text, Action action) {
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    action(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Pairs of text and count, the most frequent first, equally frequent ones by their text.
template <class Counts>
auto by_frequency(const Counts& counts) {
  std::vector<std::pair<typename Counts::key_type, std::uint64_t>> sorted(counts.begin(),
                                                                          counts.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return sorted;
}

}  // namespace roformer
