#include "text/word_dictionary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/as_number.h"
#include "base/error.h"
#include "text/utf8.h"
#include "text/vocabulary_tokenizer.h"

namespace roformer {
namespace {

bool is_ascii_word(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The characters that jieba looks up in words. Every other character is a word by itself.
bool is_block_character(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FD5) || is_ascii_word(c) || c == '+' || c == '#' || c == '&' ||
         c == '.' || c == '_' || c == '%' || c == '-';
}

struct DictionaryLine {
  std::string_view word;
  std::uint64_t count = 0;
};

DictionaryLine parse_line(std::string_view line, const std::string& where) {
  const std::size_t space = line.find(' ');
  DictionaryLine result{.word = line.substr(0, space)};
  std::string_view count = space == std::string_view::npos ? "" : line.substr(space + 1);
  count = count.substr(0, count.find(' '));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 52;
  result.count = as_number<std::uint64_t>(count).value_or(kMost + 1);
  if (result.count > kMost) {
    throw_failure(where,
                  fmt::format("got \"{}\", wanted a word and its count",
                              line.size() > 60 ? std::string(line.substr(0, 60)) + "…" : line),
                  "one word per line, as in jieba's dict.txt: 北京 34488 ns");
  }
  return result;
}

}  // namespace

WordDictionary::WordDictionary(std::string_view contents, const std::string& location) {
  struct Entry {
    std::uint32_t node;
    std::uint64_t count;
  };
  std::vector<Entry> entries;
  double total = 0;
  if (contents.starts_with("\xEF\xBB\xBF")) contents.remove_prefix(3);
  for_each_text_line(contents, [&](std::string_view line, std::int64_t number) {
    constexpr std::string_view kBlank = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlank) + 1);
    if (line.empty()) return;
    const std::string where = fmt::format("{}:{}", location, number);
    if (!is_valid_utf8(line)) throw_failure(where, "is not valid UTF-8");
    const DictionaryLine parsed = parse_line(line, where);
    std::uint32_t node = 0;
    for (std::size_t position = 0; position < parsed.word.size();) {
      node = edges_.add_child(node, next_code_point(parsed.word, position));
    }
    entries.push_back({.node = node, .count = parsed.count});
    total += static_cast<double>(parsed.count);
  });
  if (total == 0) throw_failure(location, "is no dictionary: it has no word with a count above 0");
  // As in jieba, a word has the count of its last line, and the sum is over all lines.
  const double logarithm = std::log(total);
  unknown_weight_ = -logarithm;
  weights_.assign(edges_.nodes(), kNoWord);
  for (const Entry& entry : entries) {
    weights_[entry.node] =
        entry.count > 0 ? std::log(static_cast<double>(entry.count)) - logarithm : kNoWord;
  }
  words_ = std::ranges::count_if(weights_, [](double w) { return w != kNoWord; });
}

// Finds the best way to cut the text after each position, from the last character to the first.
// Among equal ways the one with the longer first word wins, as in jieba. Single ASCII digits and
// letters are joined afterwards.
void WordDictionary::cut_block(const std::vector<char32_t>& characters,
                               std::vector<std::size_t>& ends) const {
  const std::size_t size = characters.size();
  std::vector<double> best(size + 1, 0);
  std::vector<std::size_t> next(size);
  for (std::size_t begin = size; begin-- > 0;) {
    bool found = false;
    std::uint32_t node = 0;
    for (std::size_t end = begin; end < size;) {
      node = edges_.child(node, characters[end++]);
      if (node == 0) break;
      if (weights_[node] == kNoWord) continue;
      const double weight = weights_[node] + best[end];
      if (found && weight < best[begin]) continue;
      found = true;
      best[begin] = weight;
      next[begin] = end;
    }
    if (found) continue;
    best[begin] = unknown_weight_ + best[begin + 1];
    next[begin] = begin + 1;
  }
  bool joins = false;
  for (std::size_t begin = 0; begin < size; begin = next[begin]) {
    const bool single = next[begin] == begin + 1 && is_ascii_word(characters[begin]);
    if (single && joins) ends.pop_back();
    ends.push_back(next[begin]);
    joins = single;
  }
}

void WordDictionary::cut(std::string_view text, std::vector<std::size_t>& ends) const {
  std::vector<char32_t> block;
  std::vector<std::size_t> bytes;  // where the block's characters end in the text
  std::vector<std::size_t> words;
  const auto close_block = [&] {
    words.clear();
    cut_block(block, words);
    for (const std::size_t end : words) ends.push_back(bytes[end - 1]);
    block.clear();
    bytes.clear();
  };
  for (std::size_t position = 0; position < text.size();) {
    const char32_t character = next_code_point(text, position);
    if (is_block_character(character)) {
      block.push_back(character);
      bytes.push_back(position);
      continue;
    }
    if (!block.empty()) close_block();
    ends.push_back(position);
  }
  if (!block.empty()) close_block();
}

}  // namespace roformer
