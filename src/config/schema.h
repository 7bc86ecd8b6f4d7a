// The one table of options. Every member of Settings is one row: key, type, unit, default, help and
// check. YAML, flags, help texts, dumps, differences and JSON all use this table, so they agree.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "config/value.h"

namespace roformer {

enum class KeyType { integer, number, boolean, text, path, period, word, list };

// The results that a key's value can change.
enum class Decides {
  // The model and its data. Continued runs and compared runs must have the same value.
  run,
  // Later steps or their measurement. A continued run may change it; compared runs must not differ.
  figures,
  // Neither: places of files (data are compared by their fingerprints), speed, what is shown and
  // kept, how a trained model decodes.
  nothing,
};

struct Key {
  std::string name;  // "training.batch": the path of the member in Settings
  KeyType type = KeyType::text;
  std::string unit;                // "" for none
  std::string help;                // one sentence, with the source of the option
  std::vector<std::string> words;  // the allowed words
  Range range;                     // the allowed numbers
  std::vector<TaskKind> tasks;     // the tasks it applies to; empty: all
  Decides decides = Decides::run;
  bool of_file = false;  // says how to read a file: a trained model may read others

  // Sets the member from text; throws InvalidValue. A relative path starts at `folder`.
  std::function<void(Settings&, std::string_view text, const std::filesystem::path& folder)> set;
  // The value as text that `set` reads back; paths are absolute.
  std::function<std::string(const Settings&)> get;
  std::function<nlohmann::json(const Settings&)> json;

  std::string default_text() const;
  std::string type_text() const;  // "integer from 1 to 1000", "one of post, pre"
  // "rope" for position.rope.base; "" for a key that is no scheme's option.
  std::string scheme() const;
  bool applies_to(TaskKind task) const;
  // Whether the key may change when a run is continued.
  bool may_change() const { return decides != Decides::run; }
  // Whether the key must be equal in runs that are compared.
  bool is_compared() const { return decides != Decides::nothing; }
};

// All keys, sections in the order of Settings.
const std::vector<Key>& schema();
// Returns nullptr for an unknown key.
const Key* find_key(std::string_view name);
// The keys whose values differ.
std::vector<std::string> diff(const Settings& left, const Settings& right);

// The schema's parts, one file per section; schema() combines them.
std::vector<Key> data_keys();
std::vector<Key> model_keys();
std::vector<Key> training_keys();

}  // namespace roformer
