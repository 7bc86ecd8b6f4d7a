#include "config/schema_row.h"

#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parts.h"
#include "config/data_settings.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

using Folder = std::filesystem::path;
using Text = std::string_view;

Key key_of(std::string name, KeyType type, RowText row) {
  return {.name = std::move(name),
          .type = type,
          .unit = std::move(row.unit),
          .help = std::move(row.help),
          .words = std::move(row.words),
          .range = row.range,
          .tasks = std::move(row.tasks),
          .decides = row.decides,
          .of_file = row.of_file};
}

// Makes a row from a parser of the text and a printer of the value.
template <class Value, class Parse, class Print>
void bind(Key& key, Member<Value> member, Parse parse, Print print) {
  key.set = [member, parse](Settings& settings, Text text, const Folder& folder) {
    member.in(settings) = parse(text, folder);
  };
  key.get = [member, print](const Settings& settings) { return print(member.of(settings)); };
  if constexpr (std::is_arithmetic_v<Value>) {
    key.json = [member](const Settings& settings) { return nlohmann::json(member.of(settings)); };
  } else {
    key.json = key.get;
  }
}

// Reads "[A, B]" with parse(A) and parse(B); `wanted` is the message about other texts.
template <class Parse>
auto parse_list(Text text, const char* wanted, Parse parse) {
  std::vector<decltype(parse(text))> values;
  text = trimmed(text);
  if (text.empty()) return values;
  if (!text.starts_with('[') || !text.ends_with(']')) throw InvalidValue(wanted);
  text = trimmed(text.substr(1, text.size() - 2));
  for (const Text part : split_at(text, ',')) values.push_back(parse(trimmed(part)));
  return values;
}

template <class Value, class Print>
std::string print_list(const std::vector<Value>& values, Print print) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : ", ") + print(value);
  return "[" + text + "]";
}

// The row of a list of numbers; parse(text, range) reads each number.
template <class Value, class Parse, class Print>
Key list_key(std::string name, Member<std::vector<Value>> member, RowText row, const char* wanted,
             Parse parse, Print print) {
  Key key = key_of(std::move(name), KeyType::list, std::move(row));
  bind(
      key, std::move(member),
      [range = key.range, wanted, parse](Text text, const Folder&) {
        return parse_list(text, wanted, [&](Text entry) { return parse(entry, range); });
      },
      [print](const std::vector<Value>& values) { return print_list(values, print); });
  return key;
}

// Reads `[A, "B, C"]`, or one word.
std::vector<std::string> parse_words(Text text) {
  constexpr const char* kWanted = "a word, or a list of words: [title, body]";
  text = trimmed(text);
  if (text.empty()) return {};
  if (!text.starts_with('[')) return {std::string(text)};
  const YAML::Node list = parse_value(text, kWanted);
  std::vector<std::string> words;
  for (const YAML::Node& word : list) {
    if (!word.IsScalar()) throw InvalidValue(kWanted);
    words.push_back(word.Scalar());
  }
  return words;
}

}  // namespace

Key make_key(std::string name, Member<bool> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::boolean, std::move(row));
  bind(
      key, std::move(member), [](Text text, const Folder&) { return parse_boolean(text); },
      [](bool value) { return std::string(value ? "true" : "false"); });
  return key;
}

Key make_key(std::string name, Member<std::uint64_t> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::integer, std::move(row));
  key.range = at_least(0);
  bind(
      key, std::move(member), [](Text text, const Folder&) { return parse_seed(text); },
      [](std::uint64_t value) { return std::to_string(value); });
  return key;
}

Key make_key(std::string name, Member<std::int64_t> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::integer, std::move(row));
  bind(
      key, std::move(member),
      [range = key.range](Text text, const Folder&) { return parse_integer(text, range); },
      [](std::int64_t value) { return std::to_string(value); });
  return key;
}

Key make_key(std::string name, Member<double> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::number, std::move(row));
  bind(
      key, std::move(member),
      [range = key.range](Text text, const Folder&) { return parse_number(text, range); },
      [](double value) { return print_number(value); });
  return key;
}

Key make_key(std::string name, Member<Period> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::period, std::move(row));
  bind(
      key, std::move(member),
      [](Text text, const Folder&) {
        try {
          return parse_period(text);
        } catch (const Error&) {
          throw InvalidValue("a period: 500 (steps), 3e (epochs), 20Mt (tokens) or 90min");
        }
      },
      [](const Period& value) { return to_string(value); });
  return key;
}

Key make_key(std::string name, Member<std::filesystem::path> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::path, std::move(row));
  bind(
      key, std::move(member),
      [](Text text, const Folder& folder) {
        return text.empty() ? Folder() : (folder / text).lexically_normal();
      },
      [](const Folder& path) {
        return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
      });
  return key;
}

Key make_key(std::string name, Member<std::string> member, RowText row) {
  const KeyType type = row.words.empty() ? KeyType::text : KeyType::word;
  Key key = key_of(std::move(name), type, std::move(row));
  bind(
      key, std::move(member),
      [words = key.words](Text text, const Folder&) {
        if (!words.empty()) parse_word(text, words);
        return std::string(text);
      },
      [](const std::string& value) { return value; });
  return key;
}

Key make_key(std::string name, Member<std::vector<StageSettings>> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::list, std::move(row));
  bind(key, std::move(member), parse_stages, print_stages);
  return key;
}

Key make_key(std::string name, Member<std::vector<DataSource>> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::list, std::move(row));
  bind(key, std::move(member), parse_sources, print_sources);
  return key;
}

Key make_key(std::string name, Member<std::vector<LayerMapEntry>> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::list, std::move(row));
  bind(
      key, std::move(member), [](Text text, const Folder&) { return parse_layer_map(text); },
      print_layer_map);
  return key;
}

Key make_key(std::string name, Member<std::vector<double>> member, RowText row) {
  return list_key(
      std::move(name), std::move(member), std::move(row), "a list of numbers: [1, 1.5]",
      [](Text text, const Range& range) { return parse_number(text, range); },
      [](double number) { return print_number(number); });
}

Key make_key(std::string name, Member<std::vector<std::int64_t>> member, RowText row) {
  return list_key(
      std::move(name), std::move(member), std::move(row), "a list of numbers: [1, 2]",
      [](Text text, const Range& range) { return parse_integer(text, range); },
      [](std::int64_t number) { return std::to_string(number); });
}

Key make_key(std::string name, Member<std::vector<std::string>> member, RowText row) {
  Key key = key_of(std::move(name), KeyType::list, std::move(row));
  bind(
      key, std::move(member), [](Text text, const Folder&) { return parse_words(text); },
      [](const std::vector<std::string>& words) {
        return print_list(words, [](const std::string& word) { return yaml_quoted(word); });
      });
  return key;
}

Key make_key(std::string name, Choice choice, RowText row) {
  Key key = key_of(std::move(name), KeyType::word, std::move(row));
  key.words = choice.words;
  key.set = [choice](Settings& settings, Text text, const Folder&) {
    choice.set(settings, parse_word(text, choice.words));
  };
  key.get = [choice](const Settings& settings) { return choice.words.at(choice.get(settings)); };
  key.json = key.get;
  return key;
}

}  // namespace roformer
