// The texts of an enumeration of the settings, in the order of its enumerators, written beside it
// with ROFORMER_WORDS. A file, a flag, a dump and a table all spell a choice through these lists.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace roformer {

template <class Enumeration>
struct Words;

// The word that a file writes for the value, for instance "sqrt_width".
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
