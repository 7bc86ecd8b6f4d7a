// Makes the schema's rows from members of Settings. Only the schema's parts include this header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/layer_map.h"
#include "config/schema.h"
#include "config/word_list.h"

namespace roformer {

// The parts of a row other than the member that it binds.
struct RowText {
  std::string unit;
  Range range;
  std::string help;
  std::vector<std::string> words;  // for a string that must be one of a list
  std::vector<TaskKind> tasks;
  Decides decides = Decides::run;
  bool of_file = false;
};

// The member of Settings that a row binds.
template <class Value>
struct Member {
  std::function<Value&(Settings&)> in;
  std::function<const Value&(const Settings&)> of;
};

// `access(settings)` returns a reference to the member, const or not as the settings are.
template <class Access>
auto member_of(Access access) {
  using Value = std::remove_cvref_t<decltype(access(std::declval<Settings&>()))>;
  return Member<Value>{.in = access, .of = access};
}

Key make_key(std::string name, Member<bool> member, RowText row);
Key make_key(std::string name, Member<std::uint64_t> member, RowText row);
Key make_key(std::string name, Member<std::int64_t> member, RowText row);
Key make_key(std::string name, Member<double> member, RowText row);
Key make_key(std::string name, Member<Period> member, RowText row);
Key make_key(std::string name, Member<std::filesystem::path> member, RowText row);
Key make_key(std::string name, Member<std::string> member, RowText row);
Key make_key(std::string name, Member<std::vector<StageSettings>> member, RowText row);
Key make_key(std::string name, Member<std::vector<DataSource>> member, RowText row);
// "{0-2: X, 3: Y}"
Key make_key(std::string name, Member<std::vector<LayerMapEntry>> member, RowText row);
// "[1, 1.5]"; each number must be in the row's range.
Key make_key(std::string name, Member<std::vector<double>> member, RowText row);
Key make_key(std::string name, Member<std::vector<std::int64_t>> member, RowText row);
// `["title", "body"]`, or one word.
Key make_key(std::string name, Member<std::vector<std::string>> member, RowText row);

// An enumeration as the index of its word.
struct Choice {
  std::vector<std::string> words;
  std::function<void(Settings&, std::size_t)> set;
  std::function<std::size_t(const Settings&)> get;
};
Key make_key(std::string name, Choice choice, RowText row);

template <class Enumeration>
requires std::is_enum_v<Enumeration> Key make_key(std::string name, Member<Enumeration> member,
                                                  RowText row) {
  constexpr auto& texts = Words<Enumeration>::texts;
  return make_key(std::move(name),
                  Choice{.words = {texts.begin(), texts.end()},
                         .set =
                             [member](Settings& settings, std::size_t index) {
                               member.in(settings) = static_cast<Enumeration>(index);
                             },
                         .get =
                             [member](const Settings& settings) {
                               return static_cast<std::size_t>(member.of(settings));
                             }},
                  std::move(row));
}

}  // namespace roformer

// One row. The key's name is the member's path in Settings, so the two cannot drift apart.
#define ROFORMER_KEY(path, ...)                                                            \
  ::roformer::make_key(                                                                    \
      #path, ::roformer::member_of([](auto& settings) -> auto& { return settings.path; }), \
      __VA_ARGS__)
