#include "config/schema.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace roformer {
namespace {

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  for (auto part : {general_keys, data_keys, probe_keys, model_keys, position_keys,
                    translation_keys, training_keys}) {
    std::vector<Key> rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  }
  return keys;
}

}  // namespace

std::string Key::default_text() const {
  static const Settings defaults;
  // The path as written here, not the absolute one that `get` makes of it.
  if (type == KeyType::path) return name == "runs" ? defaults.runs.string() : "";
  return get(defaults);
}

std::string Key::type_text() const {
  switch (type) {
    case KeyType::integer:
      return range.words_of("integer");
    case KeyType::number:
      return range.words_of("number");
    case KeyType::boolean:
      return "true or false";
    case KeyType::text:
      return "text";
    case KeyType::path:
      return "path";
    case KeyType::period:
      return "period";
    case KeyType::word:
      return one_of(words);
    case KeyType::list:
      return "list";
  }
  return "";
}

std::string Key::scheme() const {
  constexpr std::string_view kSection = "position.";
  if (!name.starts_with(kSection)) return "";
  const std::size_t dot = name.find('.', kSection.size());
  return dot == std::string::npos ? "" : name.substr(kSection.size(), dot - kSection.size());
}

bool Key::applies_to(TaskKind task) const {
  return tasks.empty() || std::find(tasks.begin(), tasks.end(), task) != tasks.end();
}

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = all_keys();
  return keys;
}

const Key* find_key(std::string_view name) {
  static const auto index = [] {
    std::map<std::string, const Key*, std::less<>> made;
    for (const Key& key : schema()) made.emplace(key.name, &key);
    return made;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::vector<std::string> diff(const Settings& left, const Settings& right) {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.get(left) != key.get(right)) names.push_back(key.name);
  }
  return names;
}

}  // namespace roformer
