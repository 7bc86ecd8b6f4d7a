// The parameters of a formula as text, `{slope: {per: head, initial: 1, positive: true}}`, which a
// file may spread over lines, and what a formula with its parameters comes to.
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

// Throws InvalidValue with what is wrong in which parameter.
std::vector<FormulaParameter> parse_formula_parameters(std::string_view text);
// What parse_formula_parameters reads back.
std::string print_formula_parameters(const std::vector<FormulaParameter>& parameters);

// The names that `bias` or `score` may use.
FormulaNames formula_names(const FormulaSettings& settings);
// The text that counts: score where there is one, else bias.
const std::string& formula_text(const FormulaSettings& settings);
// Those of an initial value.
FormulaNames initial_names();

// Where an initial value is asked for. `index`: the index in a table.
struct ParameterEntry {
  std::int64_t head = 0, heads = 1, layer = 0, layers = 1, index = 0, size = 0;
};
double initial_value(const FormulaNode& initial, const ParameterEntry& entry);

// Formulas by name in a file of their own: `position.formula: FILE#NAME`.

// The options that FILE#NAME stands for; a text without # is the bias itself. Throws InvalidValue
// where there is no such file or formula. A relative path is taken from `folder`.
std::vector<SchemeOption> read_formula(std::string_view text, const std::filesystem::path& folder);

}  // namespace roformer
