// The pre-tokenizer of a tokenizer.json: the steps that cut a normalised text into words, as
// Hugging Face's tokenizers apply them. A model then splits each word into pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "text/byte_alphabet.h"
#include "text/text_replacement.h"
#include "text/utf8.h"

namespace roformer {

// How a step treats the delimiters that it finds.
enum class SplitBehavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };

// One step. It first rewrites a part of the text and then cuts it at its delimiters.
struct CuttingStep {
  enum class Rewriting {
    none,
    prefix_space,   // puts a space before a part that does not begin with one
    marked_spaces,  // writes the marker for each space, and may put one before the part
    byte_letters    // writes the letters of the part's bytes, after the cuts of a ByteLevel step
  };
  enum class Prefix { always, first, never };

  Rewriting rewriting = Rewriting::none;
  std::string marker;              // marked_spaces: one character
  Prefix prefix = Prefix::always;  // marked_spaces; first: only where the user's text begins
  // The delimiters: matches of a pattern, or characters. Neither: the step does not cut.
  std::optional<TextPattern> pattern;
  bool (*is_delimiter)(char32_t c) = nullptr;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool inverted = false;  // the delimiters are what lies between the matches

  bool cuts() const { return pattern.has_value() || is_delimiter != nullptr; }
  bool rewrites() const { return rewriting != Rewriting::none; }
  // The rewritten part.
  std::string rewritten(std::string_view part, bool from_start) const;
  // The first delimiter from `position` on; empty at the part's end.
  SplitPattern::Match find(std::string_view part, std::size_t position, std::int64_t& effort) const;
};

class TextCutting {
 public:
  TextCutting() = default;  // leaves a text whole
  // Reads the field "pre_tokenizer" of the file. Throws Error (failure), which names the path of
  // what is not read here.
  explicit TextCutting(const JsonFields& file);

  // Whether the words are bytes, for a vocabulary in the letters of ByteAlphabet.
  bool gives_bytes() const { return gives_bytes_; }
  // The character that a piece has for a space; empty if no step writes one.
  const std::string& marker() const { return marker_; }
  // Effort allowed for a text of this many bytes.
  std::int64_t effort_for(std::size_t bytes) const {
    return SplitPattern::effort_for(bytes) * static_cast<std::int64_t>(steps_.size() + 1);
  }

  // Calls on_word(word) for each word in its order. `from_start`: as in NormalText.
  template <class OnWord>
  void cut(std::string_view text, bool from_start, std::int64_t& effort, OnWord on_word) const {
    apply(0, text, from_start, effort, on_word);
  }

 private:
  std::vector<CuttingStep> steps_;
  bool gives_bytes_ = false;
  bool letters_ = false;  // the words of the last step are written in letters of bytes
  std::string marker_;

  void read_step(const JsonFields& step);
  void add(const JsonFields& step, CuttingStep cutting);

  // Applies the steps from `number` on.
  template <class OnWord>
  void apply(std::size_t number, std::string_view part, bool from_start, std::int64_t& effort,
             OnWord& on_word) const {
    if (part.empty()) return;
    if (number == steps_.size()) {
      letters_ ? on_word(*byte_alphabet().bytes_of(part)) : on_word(part);
      return;
    }
    const CuttingStep& step = steps_[number];
    std::string rewritten;
    if (step.rewrites()) {
      rewritten = step.rewritten(part, from_start);
      part = rewritten;
    }
    const auto emit = [&](std::size_t begin, std::size_t end) {
      apply(number + 1, part.substr(begin, end - begin), from_start && begin == 0, effort, on_word);
    };
    step.cuts() ? split(step, part, effort, emit) : emit(0, part.size());
  }

  template <class Emit>
  static void split(const CuttingStep& step, std::string_view part, std::int64_t& effort,
                    Emit emit);
};

// Segments that a step keeps together until it knows where they end.
template <class Emit>
class SegmentJoiner {
 public:
  SegmentJoiner(SplitBehavior behavior, Emit emit) : behavior_(behavior), emit_(emit) {}
  ~SegmentJoiner() = default;

  void add(std::size_t begin, std::size_t end, bool delimiter) {
    if (begin == end) return;
    if (joins(delimiter)) {
      end_ = end;
    } else {
      finish();
      begin_ = begin;
      end_ = end;
    }
    delimiter_ = delimiter;
  }
  void finish() {
    const bool dropped = behavior_ == SplitBehavior::removed && delimiter_;
    if (begin_ < end_ && !dropped) emit_(begin_, end_);
    begin_ = end_;
  }

 private:
  SplitBehavior behavior_;
  Emit emit_;
  std::size_t begin_ = 0, end_ = 0;
  bool delimiter_ = false;  // the last segment

  // Whether a segment goes on with the one before it.
  bool joins(bool delimiter) const {
    if (begin_ == end_) return false;
    switch (behavior_) {
      case SplitBehavior::contiguous:
        return delimiter == delimiter_;
      case SplitBehavior::merged_with_previous:
        return delimiter && !delimiter_;
      case SplitBehavior::merged_with_next:
        return !delimiter && delimiter_;
      default:
        return false;
    }
  }
};

template <class Emit>
void TextCutting::split(const CuttingStep& step, std::string_view part, std::int64_t& effort,
                        Emit emit) {
  SegmentJoiner<Emit> segments(step.behavior, emit);
  std::size_t begin = 0;  // of the segment before the next match
  for (std::size_t position = 0; position < part.size();) {
    const SplitPattern::Match match = step.find(part, position, effort);
    segments.add(begin, match.begin, step.inverted);
    segments.add(match.begin, match.end, !step.inverted);
    begin = position = match.end;
    // A match of no characters cuts where it is; the search goes on after the next character.
    if (match.begin == match.end && position < part.size()) next_code_point(part, position);
  }
  segments.add(begin, part.size(), step.inverted);
  segments.finish();
}

}  // namespace roformer
