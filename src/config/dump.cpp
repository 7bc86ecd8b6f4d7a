#include "config/dump.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "base/parts.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/value.h"

namespace roformer {
namespace {

bool matters(const Key& key, const Settings& settings) {
  static const Settings defaults;
  const bool chosen = key.scheme().empty() || uses_scheme(settings.position, key.scheme());
  return (chosen && key.applies_to(settings.task)) || key.get(settings) != key.get(defaults);
}

// Writes words and numbers plainly; quotes texts, which YAML could misread.
std::string yaml_scalar(const Key& key, const std::string& text) {
  if (key.type != KeyType::text && key.type != KeyType::path) return text;
  return yaml_quoted(text);
}

// Comment lines of at most 98 columns.
std::string comment(const std::string& text, const std::string& indent) {
  std::string lines;
  std::string line = indent + "#";
  for (const std::string_view word : split_at(text, ' ')) {
    if (line.size() + 1 + word.size() > 98) {
      lines += line + "\n";
      line = indent + "#";
    }
    line.append(" ").append(word);
  }
  return lines + line + "\n";
}

std::string help_comment(const Key& key, const std::string& indent) {
  std::string text = key.help + ".";
  if (!key.unit.empty()) text += " Unit: " + key.unit + ".";
  const std::string standard = key.default_text();
  text += " [" + key.type_text() + "; default " + (standard.empty() ? "empty" : standard) + "]";
  return comment(text, indent);
}

}  // namespace

std::string dump(const Settings& settings, DumpStyle style) {
  std::string text;
  std::vector<std::string_view> open;  // the sections that contain the last key
  for (const Key& key : schema()) {
    if (!matters(key, settings)) continue;
    std::vector<std::string_view> sections = split_at(key.name, '.');
    const std::string leaf(sections.back());
    sections.pop_back();
    std::size_t shared = 0;
    while (shared < open.size() && shared < sections.size() && open[shared] == sections[shared]) {
      ++shared;
    }
    for (std::size_t depth = shared; depth < sections.size(); ++depth) {
      if (depth == 0 && style == DumpStyle::commented) text += "\n";
      text.append(2 * depth, ' ').append(sections[depth]).append(":\n");
    }
    open = sections;
    const std::string indent(2 * sections.size(), ' ');
    if (style == DumpStyle::commented) text += help_comment(key, indent);
    text += indent + leaf + ": " + yaml_scalar(key, key.get(settings)) + "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const Settings& settings) {
  nlohmann::ordered_json json;
  for (const Key& key : schema()) {
    if (!matters(key, settings)) continue;
    nlohmann::ordered_json* node = &json;
    for (const std::string_view part : split_at(key.name, '.')) node = &(*node)[std::string(part)];
    *node = key.json(settings);
  }
  return json;
}

}  // namespace roformer
