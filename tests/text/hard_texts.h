// Texts that are hard to tokenise fast: long runs without spaces, of one character, of characters
// that no vocabulary has.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "text/utf8.h"

namespace roformer {

inline std::string made_word(Random& random) {
  static const std::vector<std::string> syllables = {"ka",  "to", "mi", "ren",
                                                     "sol", "va", "qu", "el"};
  std::string word;
  for (std::uint64_t left = 1 + random.below(4); left > 0; --left) {
    word += syllables[random.below(syllables.size())];
  }
  return word;
}

// Sentences of a hundred different words, some with Chinese characters.
inline std::vector<std::string> made_sentences(std::size_t count) {
  Random random(3);
  std::vector<std::string> words, result;
  for (int i = 0; i < 120; ++i) words.push_back(made_word(random));
  for (int i = 0; i < 20; ++i) {
    std::string word;
    append_utf8(word, 0x4E00 + static_cast<char32_t>(random.below(40)));
    append_utf8(word, 0x4E00 + static_cast<char32_t>(random.below(40)));
    words.push_back(word);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::string sentence;
    for (int j = 0; j < 8; ++j) sentence += (j ? " " : "") + words[random.below(words.size())];
    result.push_back(sentence + (i % 3 ? "." : "!"));
  }
  return result;
}

// About `bytes` of random characters from `first` on.
inline std::string random_run(std::size_t bytes, char32_t first, std::uint64_t characters) {
  Random random(first);
  std::string text;
  while (text.size() < bytes)
    append_utf8(text, first + static_cast<char32_t>(random.below(characters)));
  return text;
}

struct HardText {
  std::string name, text;
};

inline std::vector<HardText> hard_texts(std::size_t bytes) {
  Random random(9);
  std::string syllables, marks = "e";
  while (syllables.size() < bytes) syllables += made_word(random);
  while (marks.size() < bytes) append_utf8(marks, 0x301);
  return {{"words without spaces", syllables},
          {"one letter", std::string(bytes, 'a')},
          {"spaces", std::string(bytes, ' ')},
          {"dots", std::string(bytes, '.')},
          {"letters", random_run(bytes, 'a', 26)},
          {"digits", random_run(bytes, '0', 10)},
          {"emojis", random_run(bytes, 0x1F600, 80)},
          {"known Chinese characters", random_run(bytes, 0x4E00, 40)},
          {"unknown Chinese characters", random_run(bytes, 0x6000, 9000)},
          {"combining marks", marks}};
}

}  // namespace roformer
