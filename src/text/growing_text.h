// A text that is rewritten by rules of a file that anyone may have written. Rules may make it
// longer, but not without a bound.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace roformer {

class GrowingText {
 public:
  // `original`: bytes of the text before the rules.
  explicit GrowingText(std::size_t original) : most_(kMostGrowth * original + kFreely) {
    text_.reserve(original);
  }

  // Throws Error (failure) if the text gets far longer than the original.
  void append(std::string_view part) {
    if (part.size() > most_ - text_.size()) {
      throw_failure("tokenizer", fmt::format("its rules make a text longer than {} bytes", most_));
    }
    text_ += part;
  }
  const std::string& so_far() const { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  static constexpr std::size_t kMostGrowth = 20, kFreely = 1000;  // compatibility forms: 11
  std::size_t most_;
  std::string text_;
};

}  // namespace roformer
