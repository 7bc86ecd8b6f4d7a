// The words for the values of an enumeration in the settings, in the order of its enumerators.
// ROFORMER_WORDS defines them beside the enumeration. Files, flags, dumps and tables all use these
// words.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace roformer {

template <class Enumeration>
struct Words;

// The word for the value in files, for instance "sqrt_width".
template <class Enumeration>
std::string to_word(Enumeration value) {
  return std::string(Words<Enumeration>::texts.at(static_cast<std::size_t>(value)));
}

}  // namespace roformer

#define ROFORMER_WORDS(type, ...)                                                 \
  template <>                                                                     \
  struct Words<type> {                                                            \
    static constexpr auto texts = std::to_array<std::string_view>({__VA_ARGS__}); \
  }
