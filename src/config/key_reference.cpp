#include "config/key_reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/position_facts.h"
#include "config/suggest.h"
#include "config/synonyms.h"
#include "config/words.h"

namespace roformer {
namespace {

constexpr std::string_view kPage =
    "# Keys of a configuration\n\n"
    "`roformer config keys --format markdown` wrote this page. [README.md](README.md) explains "
    "how files use the keys; `roformer config keys --search WORD` finds a key by any word, also by "
    "the name that another program has for it.\n\n"
    "Every key is a flag too: `--training.steps 1000`. A period is `500` (steps), `3e` (epochs), "
    "`20Mt` (tokens) or `90min`.\n";

std::string tasks_of(const Key& key) {
  std::string tasks;
  for (const TaskKind task : key.tasks) tasks += (tasks.empty() ? "" : ", ") + to_word(task);
  return tasks;
}

std::string facts_of(const Key& key) {
  return key.type_text() + (key.unit.empty() ? "" : ", in " + key.unit);
}

std::string default_of(const Key& key) {
  const std::string standard = key.default_text();
  return standard.empty() ? "(empty)" : standard;
}

// Whether the word is in the key's name, or another program's name for the key or one of its words.
bool is_called(const Key& key, const std::string& word) {
  if (key.name.find(word) != std::string::npos) return true;
  const std::string_view last = std::string_view(key.name).substr(key.name.rfind('.') + 1);
  return std::ranges::any_of(meanings_of(word), [&](const Synonym& synonym) {
    if (synonym.meant == key.name || synonym.meant == last) return true;
    const bool option = !key.scheme().empty() && synonym.meant.starts_with("position.");
    if (option && synonym.meant.substr(synonym.meant.rfind('.') + 1) == last) return true;
    if (key.scheme() == synonym.meant) return true;
    if (std::ranges::find(key.words, synonym.meant) != key.words.end()) return true;
    return synonym.meant == "position" && key.name == "position.scheme";
  });
}

bool mentions(const Key& key, const std::string& word) {
  std::string text = folded_word(key.help);
  for (const std::string& value : key.words) text += " " + folded_word(value);
  return text.find(word) != std::string::npos;
}

// "training" for training.steps, "position.rope" for position.rope.base, "" for seed.
std::string section_of(const Key& key) {
  if (!key.scheme().empty()) return "position." + key.scheme();
  const std::size_t dot = key.name.find('.');
  return dot == std::string::npos ? "" : key.name.substr(0, dot);
}

// The text in a cell of a table.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '[' || c == ']') result += '\\';
    result += c;
  }
  return result;
}

// In a code span only the bar must be escaped.
std::string code(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return "`" + result + "`";
}

}  // namespace

std::vector<const Key*> keys_about(std::string_view word) {
  const std::string form = folded_word(word);
  std::vector<const Key*> called, others;
  for (const Key& key : schema()) {
    if (is_called(key, form)) {
      called.push_back(&key);
    } else if (mentions(key, form)) {
      others.push_back(&key);
    }
  }
  called.insert(called.end(), others.begin(), others.end());
  return called;
}

std::string text_of_keys(const std::vector<const Key*>& keys) {
  std::string text;
  for (const Key* const key : keys) {
    text += fmt::format("{}\n    {}; default: {}\n    {}\n", key->name, facts_of(*key),
                        default_of(*key), key->help);
    if (!key->tasks.empty()) text += "    only for task " + tasks_of(*key) + "\n";
  }
  return text;
}

std::string markdown_of_keys(const std::vector<const Key*>& keys) {
  std::string text(kPage);
  std::string section;
  for (const Key* const key : keys) {
    if (key == keys.front() || section_of(*key) != section) {
      section = section_of(*key);
      text += "\n## " + (section.empty() ? "The run" : cell(section)) + "\n\n";
      if (const PositionFacts* const facts = find_position_facts(key->scheme())) {
        text += fmt::format("{}: {}\n\n", cell(std::string(facts->paper)),
                            code(std::string(facts->formula)));
      }
      text += "| key | type | default | meaning |\n|---|---|---|---|\n";
    }
    const std::string tasks = tasks_of(*key);
    text += fmt::format("| `{}` | {} | {} | {}{} |\n", key->name, cell(facts_of(*key)),
                        key->default_text().empty() ? "" : code(key->default_text()),
                        cell(key->help), tasks.empty() ? "" : ". Only for " + cell(tasks));
  }
  return text;
}

}  // namespace roformer
