#include "text/tokenizer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "config/words.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"

namespace roformer {

bool Tokenizer::is_special(TokenId id) const {
  const SpecialTokens& tokens = special();
  return id >= 0 && (id == tokens.padding || id == tokens.unknown || id == tokens.classification ||
                     id == tokens.separator || id == tokens.mask);
}

bool same_vocabulary(const Tokenizer& a, const Tokenizer& b) {
  if (a.fingerprint() == b.fingerprint()) return true;
  if (a.vocabulary_size() != b.vocabulary_size()) return false;
  for (TokenId id = 0; id < a.vocabulary_size(); ++id) {
    if (a.piece(id) != b.piece(id)) return false;
  }
  return true;
}

void Tokenizer::find_words(std::span<const TokenId> ids, std::vector<char>& begins) const {
  begins.resize(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) begins[i] = begins_word(ids[i]) ? 1 : 0;
}

std::uint64_t Tokenizer::fingerprint(std::string_view description, std::string_view file_contents) {
  return XXH3_64bits_withSeed(file_contents.data(), file_contents.size(),
                              XXH3_64bits(description.data(), description.size()));
}

std::string decode_text(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  return std::string(ValidText(tokenizer.decode(ids)).text);
}

std::vector<std::int64_t> text_ends(const Tokenizer& tokenizer,
                                    const std::vector<std::int64_t>& named) {
  const TokenId separator = tokenizer.special().separator;
  if (!named.empty() || separator < 0) return named;
  return {separator};
}

void VocabularyTokenizer::encode(std::string_view raw, std::vector<TokenId>& ids) const {
  const ValidText valid(raw);
  count_invalid_sequences(valid.replaced);
  encode_text(valid.text, SpecialNames::letters, ids);
}

void VocabularyTokenizer::encode_prompt(std::string_view raw, std::vector<TokenId>& ids) const {
  const ValidText valid(raw);
  count_invalid_sequences(valid.replaced);
  encode_text(valid.text, SpecialNames::tokens, ids);
}

std::string VocabularyTokenizer::description() const {
  return to_word(kind_);
}

bool is_vocabulary_json(std::string_view contents, std::string_view format) {
  constexpr std::size_t kBeginning = 100;  // bytes in which the format is named
  return contents.starts_with('{') &&
         contents.substr(0, kBeginning).find(format) != std::string_view::npos;
}

nlohmann::json parse_vocabulary_json(std::string_view contents, std::string_view format,
                                     const std::string& location) {
  constexpr int kVersion = 1;
  nlohmann::json json = parse_json(contents, location);
  if (!json.is_object() || json.value("format", nlohmann::json()) != format) {
    throw_failure(location, fmt::format("is not a file of \"format\": \"{}\"", format));
  }
  if (const auto version = json.value("version", nlohmann::json()); version != kVersion) {
    throw_failure(location, fmt::format("has version {}, this program reads version {}",
                                        describe_json(version), kVersion));
  }
  return json;
}

}  // namespace roformer
