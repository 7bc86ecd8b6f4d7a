#include "text/utf16.h"

#include <utility>

#include "text/utf8.h"

namespace roformer {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

bool is_first_half(char32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_second_half(char32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

}  // namespace

void Utf16Decoder::feed(std::string_view bytes, std::string& text) {
  for (const char byte : bytes) {
    if (byte_.empty()) {
      byte_ = byte;
      continue;
    }
    auto low = static_cast<unsigned char>(byte_[0]), high = static_cast<unsigned char>(byte);
    if (order_ == Order::big_endian) std::swap(low, high);
    byte_.clear();
    take(static_cast<char32_t>(high << 8 | low), text);
  }
}

void Utf16Decoder::finish(std::string& text) {
  if (first_ != 0 || !byte_.empty()) replace(text);
  first_ = 0;
  byte_.clear();
}

void Utf16Decoder::take(char32_t unit, std::string& text) {
  if (first_ != 0) {
    const char32_t first = std::exchange(first_, 0);
    if (is_second_half(unit)) {
      append_utf8(text, 0x10000 + ((first - 0xD800) << 10) + (unit - 0xDC00));
      return;
    }
    replace(text);
  }
  if (is_first_half(unit)) {
    first_ = unit;
  } else if (is_second_half(unit)) {
    replace(text);
  } else {
    append_utf8(text, unit);
  }
}

void Utf16Decoder::replace(std::string& text) {
  append_utf8(text, kReplacement);
  ++replaced_;
}

}  // namespace roformer
