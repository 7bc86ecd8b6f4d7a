// Formulas in settings: their parameters as text, `{slope: {per: head, initial: 1, positive:
// true}}`, their initial values, and libraries of formulas in files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/formula/expression.h"
#include "config/schemes/definition.h"
#include "config/schemes/formula.h"

namespace roformer {

// Throws InvalidValue, which names the parameter.
std::vector<FormulaParameter> parse_formula_parameters(std::string_view text);
// Returns text that parse_formula_parameters reads back.
std::string print_formula_parameters(const std::vector<FormulaParameter>& parameters);

// The names that `bias` or `score` may use.
FormulaNames formula_names(const FormulaSettings& settings);
// The formula's text: the score if it is set, else the bias.
const std::string& formula_text(const FormulaSettings& settings);
// The names that an initial value may use.
FormulaNames initial_names();

// The entry whose initial value is computed. `index`: the entry's index in a table.
struct ParameterEntry {
  std::int64_t head = 0, heads = 1, layer = 0, layers = 1, index = 0, size = 0;
};
double initial_value(const FormulaNode& initial, const ParameterEntry& entry);

// The options that `position.formula: FILE#NAME` expands to; a text without # is the bias itself.
// Throws InvalidValue if the file or the formula does not exist. A relative path starts at
// `folder`.
std::vector<SchemeOption> read_formula(std::string_view text, const std::filesystem::path& folder);

}  // namespace roformer
