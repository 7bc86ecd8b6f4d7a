#include "text/split_pattern.h"

#include <optional>

#include "base/error.h"
#include "text/split_program.h"
#include "text/utf8.h"

namespace roformer {
namespace {

class PatternMatcher {
 public:
  PatternMatcher(const std::vector<PatternNode>& nodes, const std::vector<CharacterClass>& sets,
                 std::string_view text, std::int64_t& effort)
      : nodes_(nodes), sets_(sets), text_(text), effort_(effort) {}

  // Where the match of a node and all that follows it ends.
  std::optional<std::size_t> match(int number, std::size_t position) {
    while (number != kAccept) {
      spend();
      const PatternNode& node = nodes_[static_cast<std::size_t>(number)];
      if (node.kind == PatternNode::Kind::choice) {
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
          if (const auto end = match(node.parts[i], position)) return end;
        }
        number = node.parts.back();
        continue;
      }
      if (node.kind == PatternNode::Kind::lookahead) {
        if (match(node.parts[0], position).has_value() == node.negative) return std::nullopt;
        number = node.next;
        continue;
      }
      const std::size_t begin = position;
      const int count = run(node, position);
      if (count < node.least) return std::nullopt;
      if (!node.possessive && node.next != kAccept) {
        for (int left = count; left > node.least; --left) {
          if (const auto end = match(node.next, position)) return end;
          position = before(position, begin);
        }
      }
      number = node.next;
    }
    return position;
  }

 private:
  const std::vector<PatternNode>& nodes_;
  const std::vector<CharacterClass>& sets_;
  std::string_view text_;
  std::int64_t& effort_;

  void spend() {
    if (--effort_ < 0) {
      throw_failure("tokenizer", "its pattern backtracks without end on this text");
    }
  }
  // As many characters of the set as there are; moves `position` behind them.
  int run(const PatternNode& node, std::size_t& position) {
    const CharacterClass& set = sets_[node.set];
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
  std::size_t before(std::size_t position, std::size_t begin) const {
    do {
      --position;
    } while (position > begin && (static_cast<unsigned char>(text_[position]) & 0xC0) == 0x80);
    return position;
  }
};

}  // namespace

SplitPattern::SplitPattern(std::string_view pattern, const std::string& location)
    : program_(std::make_unique<const SplitProgram>(read_split_pattern(pattern, location))) {}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;

std::int64_t SplitPattern::effort_for(std::size_t bytes) {
  constexpr std::int64_t kEffortOfByte = 1000;
  return kEffortOfByte * (static_cast<std::int64_t>(bytes) + 1000);
}

SplitPattern::Match SplitPattern::find(std::string_view text, std::size_t position,
                                       std::int64_t& effort) const {
  PatternMatcher matcher(program_->nodes, program_->sets, text, effort);
  while (position < text.size()) {
    if (const auto end = matcher.match(program_->start, position)) return {position, *end};
    next_code_point(text, position);
  }
  return {text.size(), text.size()};
}

}  // namespace roformer
