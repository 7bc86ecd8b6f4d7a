// Makes the rows of the schema from members of Settings; included by the schema's parts only.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/schema.h"
#include "config/words.h"

namespace roformer {

// What a row says beside the member that it binds.
struct RowText {
  std::string unit;
  Range range;
  std::string help;
  std::vector<std::string> words;  // for a string that is one of a list
  std::vector<TaskKind> tasks;
  bool may_change = false;
};

// `member(settings)` returns a reference to the member, const or not as the settings are.
template <class Member>
Key make_key(std::string name, Member member, RowText row) {
  using Value = std::remove_cvref_t<decltype(member(std::declval<Settings&>()))>;
  Key key{.name = std::move(name),
          .unit = std::move(row.unit),
          .help = std::move(row.help),
          .words = std::move(row.words),
          .range = row.range,
          .tasks = std::move(row.tasks),
          .may_change = row.may_change};
  using Folder = std::filesystem::path;
  using Text = std::string_view;
  if constexpr (std::is_same_v<Value, bool>) {
    key.type = KeyType::boolean;
    key.set = [member](Settings& settings, Text text, const Folder&) {
      member(settings) = parse_boolean(text);
    };
    key.get = [member](const Settings& settings) {
      return std::string(member(settings) ? "true" : "false");
    };
  } else if constexpr (std::is_enum_v<Value>) {
    key.type = KeyType::word;
    key.words.assign(Words<Value>::texts.begin(), Words<Value>::texts.end());
    key.set = [member, words = key.words](Settings& settings, Text text, const Folder&) {
      member(settings) = static_cast<Value>(parse_word(text, words));
    };
    key.get = [member](const Settings& settings) { return to_word(member(settings)); };
  } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
    key.type = KeyType::integer;
    key.range = at_least(0);
    key.set = [member](Settings& settings, Text text, const Folder&) {
      member(settings) = parse_seed(text);
    };
    key.get = [member](const Settings& settings) { return std::to_string(member(settings)); };
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    key.type = KeyType::integer;
    key.set = [member, range = key.range](Settings& settings, Text text, const Folder&) {
      member(settings) = parse_integer(text, range);
    };
    key.get = [member](const Settings& settings) { return std::to_string(member(settings)); };
  } else if constexpr (std::is_same_v<Value, double>) {
    key.type = KeyType::number;
    key.set = [member, range = key.range](Settings& settings, Text text, const Folder&) {
      member(settings) = parse_number(text, range);
    };
    key.get = [member](const Settings& settings) { return print_number(member(settings)); };
  } else if constexpr (std::is_same_v<Value, Period>) {
    key.type = KeyType::period;
    key.set = [member](Settings& settings, Text text, const Folder&) {
      try {
        member(settings) = parse_period(text);
      } catch (const Error&) {
        throw InvalidValue("a period: 500 (steps), 3e (epochs), 20Mt (tokens) or 90min");
      }
    };
    key.get = [member](const Settings& settings) { return to_string(member(settings)); };
  } else if constexpr (std::is_same_v<Value, std::filesystem::path>) {
    key.type = KeyType::path;
    key.set = [member](Settings& settings, Text text, const Folder& folder) {
      member(settings) = text.empty() ? Folder() : (folder / text).lexically_normal();
    };
    key.get = [member](const Settings& settings) {
      const Folder& path = member(settings);
      return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
    };
  } else {
    static_assert(std::is_same_v<Value, std::string>);
    key.type = key.words.empty() ? KeyType::text : KeyType::word;
    key.set = [member, words = key.words](Settings& settings, Text text, const Folder&) {
      if (!words.empty()) parse_word(text, words);
      member(settings) = text;
    };
    key.get = [member](const Settings& settings) { return member(settings); };
  }
  if constexpr (std::is_arithmetic_v<Value>) {
    key.json = [member](const Settings& settings) { return nlohmann::json(member(settings)); };
  } else {
    key.json = key.get;
  }
  return key;
}

}  // namespace roformer

// One row: the member's path in Settings is the key's name, so the two cannot drift apart.
#define ROFORMER_KEY(path, ...) \
  ::roformer::make_key(         \
      #path, [](auto& settings) -> auto& { return settings.path; }, __VA_ARGS__)
