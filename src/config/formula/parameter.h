// A trained or given number or table of a formula.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/word_list.h"

namespace roformer {

enum class FormulaScope { model, layer, head, layer_head };
ROFORMER_WORDS(FormulaScope, "model", "layer", "head", "layer_head");
// How a table treats an index outside it.
enum class FormulaOutside { refuse, clamp };
ROFORMER_WORDS(FormulaOutside, "refuse", "clamp");

struct FormulaParameter {
  std::string name;
  FormulaScope per = FormulaScope::model;  // one number (or table) for each
  std::int64_t size = 0;                   // entries of a table; 0: a number
  FormulaOutside outside = FormulaOutside::refuse;
  std::string initial = "0";  // a formula of h, layer, heads, layers, index and size
  bool trained = true;
  std::optional<double> least, most;  // values are clamped to these before every forward pass

  bool of_head() const { return per == FormulaScope::head || per == FormulaScope::layer_head; }
  bool of_layer() const { return per == FormulaScope::layer || per == FormulaScope::layer_head; }
};

}  // namespace roformer
