#include "config/position_facts.h"

#include <algorithm>
#include <utility>

#include "base/parts.h"
#include "config/schemes/definition.h"
#include "config/settings.h"

namespace roformer {
std::span<const PositionFacts> position_facts() {
  static const auto facts = [] {
    std::vector<PositionFacts> all;
    for (const SchemeDefinition& scheme : scheme_definitions()) all.push_back(scheme.facts);
    return all;
  }();
  return facts;
}

const PositionFacts* find_position_facts(std::string_view name) {
  for (const PositionFacts& facts : position_facts()) {
    if (facts.name == name) return &facts;
  }
  return nullptr;
}

std::vector<std::string> position_names() {
  std::vector<std::string> names;
  for (const PositionFacts& facts : position_facts()) names.emplace_back(facts.name);
  return names;
}

std::int64_t maximal_length(const PositionSettings& position) {
  const SchemeDefinition* const scheme = find_scheme_definition(position.scheme);
  return scheme && scheme->maximal_length ? scheme->maximal_length(position) : 0;
}

std::int64_t trained_reach(const PositionSettings& position) {
  const SchemeDefinition* const scheme = find_scheme_definition(position.scheme);
  return scheme && scheme->trained_reach ? scheme->trained_reach(position) : 0;
}

bool may_be_tried_on(std::string_view scheme, std::string_view trained_with) {
  if (scheme == trained_with) return true;
  const PositionFacts* const facts = find_position_facts(scheme);
  return facts && std::ranges::count(split_at(facts->tried_on, ' '), trained_with) > 0;
}

std::vector<SchemePart> scheme_parts(const PositionSettings& position, std::int64_t layers) {
  const SchemeDefinition* const scheme = find_scheme_definition(position.scheme);
  if (scheme && scheme->parts) return scheme->parts(position, layers);
  SchemePart whole{.position = position};
  for (std::int64_t layer = 0; layer < layers; ++layer) whole.layers.push_back(layer);
  return {std::move(whole)};
}

bool uses_scheme(const PositionSettings& position, std::string_view name) {
  if (position.scheme == name) return true;
  const SchemeDefinition* const scheme = find_scheme_definition(position.scheme);
  if (!scheme || !scheme->part_names) return false;
  const std::vector<std::string> names = scheme->part_names(position);
  return std::ranges::find(names, name) != names.end();
}

void fit_to(PositionSettings& position, const SchemeUse& use) {
  const SchemeDefinition* const scheme = find_scheme_definition(position.scheme);
  if (scheme && scheme->fit) scheme->fit(position, use);
}

void keep_training_length(PositionSettings& position, std::int64_t length) {
  const SchemeDefinition* const scheme = find_scheme_definition(position.scheme);
  if (scheme && scheme->keep_training_length) scheme->keep_training_length(position, length);
}

std::vector<std::string> position_remarks(const Settings& settings) {
  std::int64_t length = settings.data.length;
  for (const StageSettings& stage : settings.stages)
    length = std::max(length, stage.length.value_or(0));
  std::vector<std::string> remarks;
  for (const SchemePart& part : scheme_parts(settings.position, settings.model.layers)) {
    const SchemeDefinition* const scheme = find_scheme_definition(part.position.scheme);
    if (scheme == nullptr || scheme->remark == nullptr) continue;
    std::string remark = scheme->remark(part.position, length);
    if (!remark.empty() && std::ranges::count(remarks, remark) == 0) {
      remarks.push_back(std::move(remark));
    }
  }
  return remarks;
}

}  // namespace roformer
