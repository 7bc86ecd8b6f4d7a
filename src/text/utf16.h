// Converts UTF-16 to UTF-8. A unit that is half of a character, without its other half, becomes
// U+FFFD and is counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

class Utf16Decoder {
 public:
  enum class Order { little_endian, big_endian };

  explicit Utf16Decoder(Order order) : order_(order) {}

  // Appends the text of the next bytes, which come in pieces of any size.
  void feed(std::string_view bytes, std::string& text);
  // Call it at the end: appends U+FFFD for an incomplete character.
  void finish(std::string& text);
  std::uint64_t replaced() const { return replaced_; }

 private:
  Order order_;
  std::string byte_;    // the first of a unit, or nothing
  char32_t first_ = 0;  // the first half of a character; 0: none
  std::uint64_t replaced_ = 0;

  void take(char32_t unit, std::string& text);
  void replace(std::string& text);
};

}  // namespace roformer
