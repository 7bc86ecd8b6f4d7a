// The regular expressions that tokenizers cut their text with (GPT-2, GPT-4, Llama 3, Qwen, BLOOM,
// ...), as Oniguruma reads them in Hugging Face's tokenizers: alternatives of characters and
// classes with greedy or possessive counts, groups, (?i:...), lookahead and lookbehind; classes may
// hold categories, scripts and other classes. \A and \z are read. Syntax that those patterns never
// use (other anchors, lazy counts, repeated groups, back references) is refused.
//
// This is our own matcher because libraries were slower and know an older Unicode (14 in PCRE2
// 10.42, 15 in ICU 72, 16 here), so that each \p{..} and \s would have to be rewritten before they
// see it. With such rewriting the patterns of GPT-2, Llama 3, Qwen 2, o200k and DeepSeek gave the
// same pieces for 2.7 MB of text in all scripts; ICU took 1.7 to 2.1 times as long as this file,
// PCRE2 5 to 18 times, and its just-in-time compiler 0.8 to 2.6 times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace roformer {

struct SplitProgram;

// Whether a pattern may match no characters, as one of lookaround alone does.
enum class EmptyMatches { refused, allowed };

class SplitPattern {
 public:
  // Throws Error (failure, `location`) for any other text.
  SplitPattern(std::string_view pattern, const std::string& location,
               EmptyMatches empty = EmptyMatches::refused);
  ~SplitPattern();
  SplitPattern(SplitPattern&&) noexcept;
  SplitPattern& operator=(SplitPattern&&) noexcept;

  struct Match {
    std::size_t begin = 0, end = 0;
  };
  // The first match in valid UTF-8 from `position` on; `begin` is the text's size if there is none.
  // `effort` counts down, and Error (failure) ends a pattern that backtracks without end.
  Match find(std::string_view text, std::size_t position, std::int64_t& effort) const;
  // Whether the pattern matches no characters at the end of the text, where find() does not look.
  bool matches_at_end(std::string_view text, std::int64_t& effort) const;
  // The effort allowed for finding all matches in a text of this many bytes.
  static std::int64_t effort_for(std::size_t bytes);

 private:
  std::unique_ptr<const SplitProgram> program_;
};

// GPT-2's pattern, which the ByteLevel step uses without being given one.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace roformer
