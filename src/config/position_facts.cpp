#include "config/position_facts.h"

#include <array>

namespace roformer {
namespace {

constexpr std::array kFacts{
    PositionFacts{.name = "sinusoidal",
                  .family = "absolute",
                  .linear_attention = true,
                  .shift_invariant = false},
    PositionFacts{.name = "learned",
                  .family = "absolute",
                  .linear_attention = true,
                  .shift_invariant = false},
    PositionFacts{.name = "none", .family = "none", .linear_attention = true},
    PositionFacts{.name = "shaw", .family = "relative"},
    PositionFacts{.name = "music_transformer", .family = "relative"},
    PositionFacts{.name = "nezha", .family = "relative"},
    PositionFacts{.name = "transformer_xl", .family = "relative"},
    PositionFacts{.name = "t5", .family = "bias"},
    PositionFacts{.name = "tupe", .family = "bias", .shift_invariant = false},
    PositionFacts{.name = "deberta", .family = "relative"},
    PositionFacts{.name = "alibi", .family = "bias"},
    PositionFacts{.name = "kerple", .family = "bias"},
    PositionFacts{.name = "fire",
                  .family = "bias",
                  .shift_invariant = false},  // divides by the query's position
    PositionFacts{.name = "sandwich", .family = "bias"},
    PositionFacts{.name = "cope", .family = "relative", .causal_only = true},
    PositionFacts{.name = "rope", .family = "rotary", .linear_attention = true, .rotary = true},
    PositionFacts{.name = "xpos", .family = "rotary", .causal_only = true, .rotary = true},
    PositionFacts{.name = "rerope", .family = "rotary", .rotary = true},
};

}  // namespace

std::span<const PositionFacts> position_facts() {
  return kFacts;
}

const PositionFacts* find_position_facts(std::string_view name) {
  for (const PositionFacts& facts : kFacts) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

std::vector<std::string> position_names() {
  std::vector<std::string> names;
  for (const PositionFacts& facts : kFacts) names.emplace_back(facts.name);
  return names;
}

std::int64_t maximal_length(const PositionSettings& position) {
  if (position.scheme == "learned") {
    const std::int64_t rows = position.learned.length;
    return position.learned.hierarchical ? rows * rows : rows;
  }
  if (position.scheme == "music_transformer") return position.music_transformer.length;
  if (position.scheme == "tupe") return position.tupe.length;
  return 0;
}

}  // namespace roformer
