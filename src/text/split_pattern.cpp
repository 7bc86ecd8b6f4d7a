#include "text/split_pattern.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "text/split_program.h"
#include "text/utf8.h"

namespace roformer {
namespace {

class PatternMatcher {
 public:
  PatternMatcher(const SplitProgram& program, std::string_view text, std::int64_t& effort)
      : program_(program), text_(text), effort_(effort) {}

  // The position where the match of a node and its successors ends.
  std::optional<std::size_t> match(int number, std::size_t position) {
    while (number != kAccept) {
      spend();
      const PatternNode& node = program_.nodes[static_cast<std::size_t>(number)];
      if (node.kind == PatternNode::Kind::choice) {
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
          if (const auto end = match(node.parts[i], position)) return end;
        }
        number = node.parts.back();
        continue;
      }
      if (node.kind == PatternNode::Kind::lookbehind_end) {
        if (position != origin_) return std::nullopt;
        number = node.next;
        continue;
      }
      if (node.kind != PatternNode::Kind::characters) {
        const bool ahead = node.kind == PatternNode::Kind::lookahead;
        const bool found =
            ahead ? match(node.parts[0], position).has_value() : looks_behind(node, position);
        if (found == node.negative) return std::nullopt;
        number = node.next;
        continue;
      }
      const int count = run(node, position);
      if (count < node.least) return std::nullopt;
      if (!node.possessive && node.next != kAccept) {
        for (int left = count; left > node.least; --left) {
          if (const auto end = match(node.next, position)) return end;
          position = character_before(text_, position);
        }
      }
      number = node.next;
    }
    return position;
  }

 private:
  const SplitProgram& program_;
  std::string_view text_;
  std::int64_t& effort_;
  std::size_t origin_ = 0;  // where the innermost lookbehind looks from

  // Whether the part of a lookbehind matches the characters before the position.
  bool looks_behind(const PatternNode& node, std::size_t position) {
    const std::size_t outer = std::exchange(origin_, position);
    bool found = false;
    for (int back = 0; !found; ++back) {
      spend();
      found = back >= node.least && match(node.parts[0], position).has_value();
      if (found || back == node.most || position == 0) break;
      position = character_before(text_, position);
    }
    origin_ = outer;
    return found;
  }

  void spend() {
    if (--effort_ < 0) {
      throw_failure("tokenizer", "its pattern backtracks without end on this text");
    }
  }
  // Moves `position` past as many characters of the set as there are, and counts them.
  int run(const PatternNode& node, std::size_t& position) {
    const CharacterClass& set = program_.sets[node.set];
    int count = 0;
    while (count < node.most && position < text_.size()) {
      std::size_t end = position;
      if (!set.contains(next_code_point(text_, end))) break;
      position = end;
      ++count;
      spend();
    }
    return count;
  }
};

}  // namespace

SplitPattern::SplitPattern(std::string_view pattern, const std::string& location,
                           EmptyMatches empty)
    : program_(std::make_unique<const SplitProgram>(read_split_program(pattern, location, empty))) {
}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;

std::int64_t SplitPattern::effort_for(std::size_t bytes) {
  constexpr std::int64_t kEffortOfByte = 1000;
  return kEffortOfByte * (static_cast<std::int64_t>(bytes) + 1000);
}

SplitPattern::Match SplitPattern::find(std::string_view text, std::size_t position,
                                       std::int64_t& effort) const {
  PatternMatcher matcher(*program_, text, effort);
  while (position < text.size()) {
    if (const auto end = matcher.match(program_->start, position)) return {position, *end};
    next_code_point(text, position);
  }
  return {text.size(), text.size()};
}

bool SplitPattern::matches_at_end(std::string_view text, std::int64_t& effort) const {
  return PatternMatcher(*program_, text, effort).match(program_->start, text.size()).has_value();
}

}  // namespace roformer
