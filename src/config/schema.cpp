#include "config/schema.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "config/task_facts.h"

namespace roformer {
namespace {

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  using Part = std::vector<Key> (*)();
  const auto add = [&](Part part) {
    if (part == nullptr) return;
    std::vector<Key> rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  };
  const auto add_tasks = [&](Part TaskFacts::*part) {
    for (const TaskFacts& task : all_task_facts()) add(task.*part);
  };
  add(general_keys);
  add(data_keys);
  add_tasks(&TaskFacts::keys);
  add(model_keys);
  add(position_keys);
  add_tasks(&TaskFacts::keys_after_model);
  add(training_keys);
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
