// The one kind of regular expression that the tokenizers of translation metrics are made of: a
// fixed number of characters, each of a class, replaced from left to right and without overlap.
#pragma once

#include <cstddef>

namespace roformer {

// s/([first])([second])/.../g over `text`: where the classes hold for neighbouring characters,
// write(result, characters) writes the replacement; `characters` points at the first of them.
template <typename Text, typename Write, typename... Classes>
Text substitute(const Text& text, Write write, Classes... classes) {
  constexpr std::size_t kLength = sizeof...(Classes);
  Text result;
  result.reserve(text.size() + text.size() / 4);
  std::size_t position = 0;
  while (position + kLength <= text.size()) {
    const auto* const characters = text.data() + position;
    std::size_t index = 0;
    if ((classes(characters[index++]) && ...)) {
      write(result, characters);
      position += kLength;
    } else {
      result.push_back(text[position++]);
    }
  }
  return result.append(text, position);
}

// As substitute(), with a space on either side of each character of the class.
template <typename Text, typename Class>
Text pad(const Text& text, Class wanted) {
  const auto write = [](Text& result, const auto* character) {
    result += ' ';
    result += *character;
    result += ' ';
  };
  return substitute(text, write, wanted);
}

// For substitute() of two characters: a space on either side of one of them.
struct PadFirst {
  template <typename Text, typename Character>
  void operator()(Text& result, const Character* pair) const {
    result += ' ';
    result += pair[0];
    result += ' ';
    result += pair[1];
  }
};
struct PadSecond {
  template <typename Text, typename Character>
  void operator()(Text& result, const Character* pair) const {
    result += pair[0];
    result += ' ';
    result += pair[1];
    result += ' ';
  }
};

}  // namespace roformer
