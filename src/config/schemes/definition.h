// What the configuration knows of a positional scheme, all of it in schemes/NAME.{h,cpp}: its
// settings struct, the rows of its options, its facts and what must go together. Everything else
// that is said of schemes in config/ is derived from these definitions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/position_facts.h"
#include "config/position_settings.h"
#include "config/problems.h"

namespace roformer {

struct Key;
struct SchemeSection;
class SchemeCheck;

// An option of a scheme by its name in the scheme's section, and its value as text.
struct SchemeOption {
  std::string option;
  std::string text;
  SourceLocation where = {};  // in a file of its own; empty: where the section is
};

struct SchemeDefinition {
  PositionFacts facts;
  // The rest is left out where a scheme has nothing to say.
  std::vector<Key> (*options)(const SchemeSection& section) = nullptr;
  void (*check)(const SchemeCheck& check) = nullptr;  // reports what does not go together
  // See the functions of these names in position_facts.h.
  std::int64_t (*maximal_length)(const PositionSettings& position) = nullptr;
  std::int64_t (*trained_reach)(const PositionSettings& position) = nullptr;
  void (*fit)(PositionSettings& position, const SchemeUse& use) = nullptr;
  // What a user should know before a training in rows of that length; empty: nothing.
  std::string (*remark)(const PositionSettings& position, std::int64_t length) = nullptr;
  void (*keep_training_length)(PositionSettings& position, std::int64_t length) = nullptr;
  // What the section may be given as instead of its options (position.formula: FILE#NAME), in
  // options; throws InvalidValue. Relative paths are taken from `folder`. A map is meant that way
  // where it has a key that `shorthand_key` answers for.
  std::vector<SchemeOption> (*shorthand)(std::string_view text,
                                         const std::filesystem::path& folder) = nullptr;
  bool (*shorthand_key)(std::string_view key) = nullptr;
  // Whether an option, given without a choice of a scheme, means this one.
  bool (*says_itself)(std::string_view option) = nullptr;
  // The schemes that a composite one is made of; throws InvalidValue where its layers make none.
  std::vector<SchemePart> (*parts)(const PositionSettings& position, std::int64_t layers) = nullptr;
  std::vector<std::string> (*part_names)(const PositionSettings& position) = nullptr;
};

// Those of schemes/list.h in its order, then what was registered.
const std::vector<SchemeDefinition>& scheme_definitions();
// nullptr for an unknown name.
const SchemeDefinition* find_scheme_definition(std::string_view name);

// Adds a scheme beside the built-in ones (a test's, say), before anything has asked for schemes or
// keys: from the initialiser of a constant at namespace scope. The name must be new.
void register_scheme_definition(const SchemeDefinition& definition);

}  // namespace roformer
