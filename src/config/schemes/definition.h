// The configuration's knowledge of one positional scheme: its settings struct, the rows of its
// options, its facts and its checks. It is all in schemes/NAME.{h,cpp}; the rest of config/ derives
// everything about schemes from these definitions.
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

// An option by its name in the scheme's section, with its value as text.
struct SchemeOption {
  std::string option;
  std::string text;
  SourceLocation where = {};  // the place in the option's own file; empty: the section's place
};

struct SchemeDefinition {
  PositionFacts facts;
  // A scheme leaves out the members below that it does not need.
  std::vector<Key> (*options)(const SchemeSection& section) = nullptr;
  void (*check)(const SchemeCheck& check) = nullptr;  // reports options that do not fit together
  // position_facts.h describes the functions of these names.
  std::int64_t (*maximal_length)(const PositionSettings& position) = nullptr;
  std::int64_t (*trained_reach)(const PositionSettings& position) = nullptr;
  void (*fit)(PositionSettings& position, const SchemeUse& use) = nullptr;
  // A message for the user before a training on rows of that length; empty: no message.
  std::string (*remark)(const PositionSettings& position, std::int64_t length) = nullptr;
  void (*keep_training_length)(PositionSettings& position, std::int64_t length) = nullptr;
  // Converts one value for the whole section (position.formula: FILE#NAME) into options; throws
  // InvalidValue. Relative paths start at `folder`. A map is such a value if `shorthand_key`
  // returns true for one of its keys.
  std::vector<SchemeOption> (*shorthand)(std::string_view text,
                                         const std::filesystem::path& folder) = nullptr;
  bool (*shorthand_key)(std::string_view key) = nullptr;
  // Whether this option alone chooses the scheme if nothing else does.
  bool (*says_itself)(std::string_view option) = nullptr;
  // The parts of a composite scheme; throws InvalidValue if its layers are invalid.
  std::vector<SchemePart> (*parts)(const PositionSettings& position, std::int64_t layers) = nullptr;
  std::vector<std::string> (*part_names)(const PositionSettings& position) = nullptr;
};

// The schemes of schemes/list.h in their order, followed by registered schemes.
const std::vector<SchemeDefinition>& scheme_definitions();
// Returns nullptr for an unknown name.
const SchemeDefinition* find_scheme_definition(std::string_view name);

// Adds a scheme to the built-in ones, for instance in a test. The name must be new. Call it before
// anything reads schemes or keys: from the initialiser of a constant at namespace scope.
void register_scheme_definition(const SchemeDefinition& definition);

}  // namespace roformer
