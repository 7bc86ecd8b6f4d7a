#include "metrics/code_points.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include "base/error.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr char32_t kCodePoints = 0x110000;

// The bytes of the space that begins at `position`; 0 where none does.
std::size_t space_at(std::string_view text, std::size_t position) {
  std::size_t end = position;
  const auto byte = static_cast<unsigned char>(text[position]);
  if (byte < 128) return is_space(byte) ? 1 : 0;
  return is_space(next_code_point(text, end)) ? end - position : 0;
}

}  // namespace

std::u32string to_code_points(std::string_view text) {
  std::u32string result;
  result.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    result.push_back(next_code_point(text, position));
  }
  return result;
}

std::string to_utf8(std::u32string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t code_point : text) {
    if (code_point < 128) {
      result.push_back(static_cast<char>(code_point));
    } else if (code_point < kCodePoints) {
      append_utf8(result, code_point);
    }
  }
  return result;
}

bool is_space(char32_t code_point) {
  if (code_point < 128) {
    return code_point == ' ' || (code_point >= 9 && code_point <= 13) ||
           (code_point >= 0x1C && code_point <= 0x1F);
  }
  return u_isUWhiteSpace(static_cast<UChar32>(code_point));
}

std::string_view without_trailing_spaces(std::string_view text) {
  while (!text.empty()) {
    const std::size_t start = character_before(text, text.size());
    if (space_at(text, start) == 0) break;
    text = text.substr(0, start);
  }
  return text;
}

std::string_view without_outer_spaces(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = space_at(text, 0);
    if (bytes == 0) break;
    text.remove_prefix(bytes);
  }
  return without_trailing_spaces(text);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t start = 0;
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t bytes = space_at(text, position);
    if (bytes == 0) {
      ++position;
      while (position < text.size() && is_continuation_byte(text[position])) ++position;
      continue;
    }
    if (position > start) words.push_back(text.substr(start, position - start));
    start = position += bytes;
  }
  if (text.size() > start) words.push_back(text.substr(start));
  return words;
}

std::string joined_words(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const std::string_view word : split_words(text)) {
    if (!result.empty()) result += ' ';
    result += word;
  }
  return result;
}

std::string lower_case(std::string_view text) {
  std::string result;
  icu::StringByteSink<std::string> sink(&result, static_cast<std::int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0,
                            icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())),
                            sink, nullptr, status);
  ROFORMER_ASSERT(U_SUCCESS(status));
  return result;
}

}  // namespace roformer
