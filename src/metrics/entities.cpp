#include "metrics/entities.h"

#include <algorithm>

#include "base/error.h"

namespace roformer {
namespace {

std::vector<Entity> lenient_entities(const std::vector<std::string>& tags) {
  std::vector<Entity> entities;
  TagParts before;  // O before the first word
  bool open = false;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const TagParts now = tag_parts(tags[i]);
    const bool ended = before.mark == 'O' || before.mark == 'E' || before.mark == 'S';
    const bool begins =
        now.mark != 'O' && (ended || now.mark == 'B' || now.mark == 'S' || now.type != before.type);
    if (open && (ended || begins || now.mark == 'O')) {
      entities.back().end = i;
      open = false;
    }
    if (begins) {
      entities.push_back({.type = std::string(now.type), .begin = i});
      open = true;
    }
    before = now;
  }
  if (open) entities.back().end = tags.size();
  return entities;
}

std::vector<Entity> strict_entities(const std::vector<std::string>& tags) {
  std::vector<Entity> entities;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    const TagParts first = tag_parts(tags[i]);
    if (first.mark == 'S') {
      entities.push_back({.type = std::string(first.type), .begin = i, .end = i + 1});
    }
    if (first.mark != 'B') continue;
    const auto continues = [&](std::size_t at, char mark) {
      return at < tags.size() && tag_parts(tags[at]).mark == mark &&
             tag_parts(tags[at]).type == first.type;
    };
    std::size_t end = i + 1;
    while (continues(end, 'I')) ++end;
    if (!continues(end, 'E')) continue;
    entities.push_back({.type = std::string(first.type), .begin = i, .end = end + 1});
  }
  return entities;
}

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

}  // namespace

TagParts tag_parts(std::string_view tag) {
  constexpr std::string_view kNoType = "_";
  if (tag.empty()) return {.mark = 'O', .type = kNoType};
  TagParts parts{.mark = tag.front(), .type = tag.substr(1)};
  if (parts.type.starts_with('-')) parts.type.remove_prefix(1);
  if (parts.type.empty()) parts.type = kNoType;
  return parts;
}

std::vector<Entity> entities_of(const std::vector<std::string>& tags, EntityRule rule) {
  if (rule == EntityRule::lenient) return lenient_entities(tags);
  if (rule == EntityRule::strict_bioes) return strict_entities(tags);
  std::vector<Entity> words;
  for (std::size_t i = 0; i < tags.size(); ++i) {
    words.push_back({.type = tags[i], .begin = i, .end = i + 1});
  }
  return words;
}

PrecisionRecall EntityCounts::figures() const {
  const auto hits = static_cast<double>(right);
  PrecisionRecall result{.precision = share(hits, static_cast<double>(predicted)),
                         .recall = share(hits, static_cast<double>(labelled))};
  result.f1 = share(2 * result.precision * result.recall, result.precision + result.recall);
  return result;
}

void EntityScores::add(const std::vector<std::string>& labelled,
                       const std::vector<std::string>& predicted) {
  ROFORMER_ASSERT(labelled.size() == predicted.size());
  const std::vector<Entity> truth = entities_of(labelled, rule_);
  const std::vector<Entity> found = entities_of(predicted, rule_);
  for (const Entity& entity : truth) ++types_[entity.type].labelled;
  for (const Entity& entity : found) {
    EntityCounts& counts = types_[entity.type];
    ++counts.predicted;
    // Entities do not overlap, so at most one begins at a word.
    const auto same = std::ranges::lower_bound(truth, entity.begin, {}, &Entity::begin);
    if (same != truth.end() && *same == entity) ++counts.right;
  }
}

EntityCounts EntityScores::total() const {
  EntityCounts sum;
  for (const auto& [type, counts] : types_) {
    sum.right += counts.right;
    sum.predicted += counts.predicted;
    sum.labelled += counts.labelled;
  }
  return sum;
}

namespace {

// The mean of the types' figures with these weights.
template <class Weight>
PrecisionRecall mean_of(const std::map<std::string, EntityCounts>& types, Weight weight_of) {
  PrecisionRecall sum;
  double weights = 0;
  for (const auto& [type, counts] : types) {
    const PrecisionRecall figures = counts.figures();
    const double weight = weight_of(counts);
    weights += weight;
    sum.precision += weight * figures.precision;
    sum.recall += weight * figures.recall;
    sum.f1 += weight * figures.f1;
  }
  return {.precision = share(sum.precision, weights),
          .recall = share(sum.recall, weights),
          .f1 = share(sum.f1, weights)};
}

}  // namespace

PrecisionRecall EntityScores::macro() const {
  return mean_of(types_, [](const EntityCounts&) { return 1.0; });
}

PrecisionRecall EntityScores::weighted() const {
  return mean_of(types_,
                 [](const EntityCounts& counts) { return static_cast<double>(counts.labelled); });
}

}  // namespace roformer
