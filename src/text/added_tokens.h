// Tokens in addition to a vocabulary ("added tokens" of Hugging Face's tokenizers). They are found
// before the text is cut into words; the leftmost match wins, and at one place the longest. Special
// tokens are found only in a prompt, never in data.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"
#include "text/tokenizer.h"

namespace roformer {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;
  bool single_word = false;   // only if no letter or digit is beside it
  bool takes_before = false;  // the white space before it belongs to it
  bool takes_after = false;
  bool normalized = false;  // found in the normalised text

  bool operator==(const AddedToken&) const = default;
};

// Fields of an object of such a file. The first function returns null if there is no such field or
// no object; the others return true or false, and a text. The last two throw Error (failure,
// `location`) for a value of another type.
nlohmann::json json_or_null(const nlohmann::json& object, const char* name);
bool json_flag(const nlohmann::json& object, const char* name, bool otherwise,
               const std::string& location);
std::string json_word(const nlohmann::json& object, const char* name, const std::string& location);

// An entry of "added_tokens" in tokenizer.json or of "added_tokens_decoder" in
// tokenizer_config.json, without its id. Throws Error (failure, `location`), also for more than
// 1,024 bytes.
AddedToken parse_added_token(const nlohmann::json& entry, const std::string& location);
// Such an entry, with its id.
nlohmann::ordered_json added_token_json(const AddedToken& token);

// As in the reference, a token that is also a piece gets the piece's id. The other tokens get the
// ids from the vocabulary's size on, whatever a file says. Throws Error (failure, `location`) if a
// file gives other ids, and for a token that is listed twice. `known` gives the id of a piece of
// the vocabulary, -1 for any other text.
void check_added_ids(const std::vector<AddedToken>& tokens,
                     const std::function<TokenId(const std::string&)>& known, std::int64_t pieces,
                     const std::string& location);

// How to read the name of a special token in a text.
enum class SpecialNames { letters, tokens };

class AddedTokens {
 public:
  // Throws Error (failure) for a token of more than 1,024 bytes.
  void insert(AddedToken token);
  // Whether a text can hold a token.
  bool may_find(SpecialNames special) const {
    return plain_ > 0 || (special == SpecialNames::tokens && !tokens_.empty());
  }

  // The parts of valid UTF-8 in their order: text between tokens, and tokens.
  void split(std::string_view text, SpecialNames special,
             const std::function<void(std::string_view)>& on_text,
             const std::function<void(TokenId)>& on_token) const;

 private:
  PieceTrie trie_;  // of indices in tokens_
  std::vector<AddedToken> tokens_;
  std::size_t plain_ = 0;  // tokens that are not special

  bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) const;
};

// Added tokens of both kinds: those in the original text, and those in the normalised text between
// them.
class LayeredTokens {
 public:
  // Normalises the content of a token that is found in normalised text.
  void insert(AddedToken token);
  bool may_find(SpecialNames special) const { return in_text_.may_find(special); }
  bool may_find_in_normal_text(SpecialNames special) const {
    return in_normal_text_.may_find(special);
  }
  using Normalize = std::function<std::string(std::string_view)>;
  // The same as in AddedTokens. on_text(part, whole) also gets the normalised text that the part
  // comes from. Without `normalize`, normalised text is not searched, and the part comes from
  // itself.
  void split(std::string_view text, SpecialNames special, const Normalize& normalize,
             const std::function<void(std::string_view, std::string_view)>& on_text,
             const std::function<void(TokenId)>& on_token) const;

 private:
  AddedTokens in_text_, in_normal_text_;
};

}  // namespace roformer
