#include "model/token_rules.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace roformer {
namespace {

bool has_score(std::int64_t id, std::span<const float> scores) {
  return id >= 0 && id < static_cast<std::int64_t>(scores.size());
}

void penalize_repetition(double penalty, std::span<const std::int64_t> text,
                         std::span<float> scores) {
  const auto factor = static_cast<float>(penalty);
  std::vector<std::int64_t> ids(text.begin(), text.end());
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());  // a token is penalised once
  for (const std::int64_t id : ids) {
    if (!has_score(id, scores)) continue;
    float& score = scores[static_cast<std::size_t>(id)];
    score = score < 0 ? score * factor : score / factor;
  }
}

// Bans what would end a row of `size` tokens that the text holds already.
void ban_repeated_rows(std::size_t size, std::span<const std::int64_t> text,
                       std::span<float> scores) {
  if (text.size() < size) return;
  const auto begun = text.last(size - 1);
  for (std::size_t i = 0; i + size <= text.size(); ++i) {
    const std::int64_t id = text[i + size - 1];
    if (!has_score(id, scores) || !std::ranges::equal(text.subspan(i, size - 1), begun)) continue;
    scores[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

void apply_rules(const TokenRules& rules, std::span<const std::int64_t> text,
                 std::span<float> scores) {
  if (rules.repetition_penalty != 1) penalize_repetition(rules.repetition_penalty, text, scores);
  if (rules.no_repeat_ngram > 0) {
    ban_repeated_rows(static_cast<std::size_t>(rules.no_repeat_ngram), text, scores);
  }
}

}  // namespace roformer
