#include "text/added_tokens.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "text/code_point_category.h"
#include "text/utf8.h"

namespace roformer {
namespace {

std::size_t code_point_before(std::string_view text, std::size_t position) {
  do {
    --position;
  } while (position > 0 && (static_cast<unsigned char>(text[position]) & 0xC0) == 0x80);
  return position;
}

bool is_white(std::string_view text, std::size_t position) {
  return u_isUWhiteSpace(static_cast<UChar32>(next_code_point(text, position)));
}

std::size_t white_before(std::string_view text, std::size_t position) {
  while (position > 0) {
    const std::size_t before = code_point_before(text, position);
    if (!is_white(text, before)) break;
    position = before;
  }
  return position;
}

std::size_t white_behind(std::string_view text, std::size_t position) {
  while (position < text.size() && is_white(text, position)) next_code_point(text, position);
  return position;
}

}  // namespace

void AddedTokens::insert(AddedToken token) {
  trie_.insert(token.content, static_cast<std::int32_t>(tokens_.size()));
  tokens_.push_back(std::move(token));
}

bool AddedTokens::stands_alone(std::string_view text, std::size_t begin, std::size_t end) const {
  if (begin > 0) {
    std::size_t before = code_point_before(text, begin);
    if (is_word_character(next_code_point(text, before))) return false;
  }
  return end == text.size() || !is_word_character(next_code_point(text, end));
}

// A token that took white space behind it may leave the next match behind where the text went on:
// that part is then read again, as the reference does.
void AddedTokens::split(std::string_view text, const std::function<void(std::string_view)>& on_text,
                        const std::function<void(TokenId)>& on_token) const {
  std::size_t done = 0;
  for (std::size_t position = 0; position < text.size() && !tokens_.empty();) {
    const PieceTrie::Match match = trie_.longest_prefix(text.substr(position));
    if (match.id < 0) {
      ++position;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.id)];
    std::size_t begin = position;
    std::size_t end = position + match.length;
    position = end;
    if (token.special || (token.single_word && !stands_alone(text, begin, end))) continue;
    if (token.takes_before) begin = std::max(white_before(text, begin), done);
    if (token.takes_behind) end = white_behind(text, end);
    if (done < begin) on_text(text.substr(done, begin - done));
    on_token(token.id);
    done = end;
  }
  if (done < text.size()) on_text(text.substr(done));
}

}  // namespace roformer
