#include "config/schemes/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "config/formula/parameters.h"
#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

Key parameters_key(const SchemeSection& section) {
  const auto position = section.position;
  const auto print = [position](const Settings& settings) {
    return print_formula_parameters((settings.*position).of<FormulaSettings>().parameters);
  };
  return {.name = section.name + ".parameters",
          .type = KeyType::list,
          .unit = "",
          .help =
              "what is trained, by name: {per: model, layer, head or layer_head; size: entries "
              "of a table; initial: a number or a formula of h, layer, heads, layers, index; "
              "positive: true, or least: and most: bounds; trained: false; outside: refuse or "
              "clamp an index}",
          .words = {},
          .range = {},
          .tasks = {},
          .set =
              [position](Settings& settings, std::string_view text, const std::filesystem::path&) {
                (settings.*position).of<FormulaSettings>().parameters =
                    parse_formula_parameters(text);
              },
          .get = print,
          .json = print};
}

std::vector<Key> formula_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(
          FormulaSettings, bias,
          {.help = "added to the scores after they are scaled; of i, j (positions of query "
                   "and key), h, layer (from 0), heads, layers, length (keys of an "
                   "encoder's text) and the parameters; e.g. -slope[h] * abs(i - j)"}),
      ROFORMER_OPTION(FormulaSettings, score,
                      {.help = "instead of bias: the new score, also of `score`, the scaled one"}),
      parameters_key(section),
      ROFORMER_OPTION(FormulaSettings, source, {.help = "where the formula comes from"}),
      ROFORMER_OPTION(FormulaSettings, name,
                      {.help = "what the tables and charts of a study call a formula that has no "
                               "FILE#NAME"}),
  };
}

class FormulaCheck {
 public:
  explicit FormulaCheck(const SchemeCheck& check)
      : check_(check), formula_(check.options<FormulaSettings>()) {}

  void run() {
    const std::string option = formula_.score.empty() ? "bias" : "score";
    const std::string& text = formula_text(formula_);
    if (!formula_.score.empty() && !formula_.bias.empty() &&
        formula_.bias != FormulaSettings().bias) {
      check_.problem({check_.option("score"), check_.option("bias"), check_.choice()},
                     "got both bias and score", "a score says it all: score + ...");
      return;
    }
    try {
      const FormulaNode root = parse_formula(text, formula_names(formula_));
      read_ = true;
      uses(root);
      for (std::size_t i = 0; i < formula_.parameters.size(); ++i) parameter(i);
      if (!good_) return;  // invalid parameters would make the checks below fail
      if (root.type == FormulaType::boolean) {
        throw FormulaError(root.column, "a condition where a number is wanted",
                           "where(condition, number, number)");
      }
      if (root.uses.length && !check_.both_sides()) {
        throw FormulaError(0,
                           "length in a model that looks to the left, whose texts are read before "
                           "they end",
                           "the query i sees i + 1 keys");
      }
      sums(root);
      indices(root);
      values(root);
    } catch (const FormulaError& error) {
      check_.problem({check_.option(option), check_.option("parameters"), check_.choice()},
                     error.shown(text));
    }
    if (read_) return;
    for (std::size_t i = 0; i < formula_.parameters.size(); ++i) parameter(i);
  }

 private:
  const SchemeCheck& check_;
  const FormulaSettings& formula_;
  std::set<std::size_t> used_;  // indices of the parameters that the formula uses
  bool read_ = false;           // the formula was parsed
  bool good_ = true;            // the initial values are valid

  std::int64_t heads() const { return check_.settings().model.heads; }
  std::int64_t layers() const { return check_.layers(); }

  void problem(const std::string& message, const std::string& hint = "") {
    check_.problem({check_.option("parameters"), check_.choice()}, message, hint);
  }

  void uses(const FormulaNode& node) {
    if (node.operation == FormulaOperation::parameter) used_.insert(node.parameter);
    for (const FormulaNode& argument : node.arguments) uses(argument);
  }

  void parameter(std::size_t index) {
    const FormulaParameter& one = formula_.parameters[index];
    if (read_ && !used_.contains(index)) {
      problem(fmt::format("{} is not used in the formula", one.name), "leave it out");
    }
    try {
      const FormulaNode initial = parse_formula(one.initial, initial_names());
      const std::int64_t last = std::max<std::int64_t>(one.size, 1) - 1;
      for (std::int64_t layer = 0; layer < (one.of_layer() ? layers() : 1); ++layer) {
        for (std::int64_t head = 0; head < (one.of_head() ? heads() : 1); ++head) {
          for (const std::int64_t index : {std::int64_t{0}, last}) {
            const double value = initial_value(initial, {.head = head,
                                                         .heads = heads(),
                                                         .layer = layer,
                                                         .layers = layers(),
                                                         .index = index,
                                                         .size = one.size});
            if (bad(one, value)) return;
          }
        }
      }
    } catch (const FormulaError& error) {
      good_ = false;
      problem(fmt::format("initial of {}: {}", one.name, error.shown(one.initial)));
    }
  }

  bool bad(const FormulaParameter& one, double value) {
    const bool within = std::isfinite(value) && (!one.least || value >= *one.least) &&
                        (!one.most || value <= *one.most);
    if (within) return false;
    good_ = false;
    problem(fmt::format("{} begins at {:g}, which is {}", one.name, value,
                        !std::isfinite(value)                 ? "no number"
                        : one.least && !(value >= *one.least) ? "below its least value"
                                                              : "above its most value"),
            one.least && !(value >= *one.least) ? fmt::format("at least {:g}", *one.least) : "");
    return true;
  }

  // Checks sums for too many terms, unless their bounds depend on an outer sum's variable.
  void sums(const FormulaNode& node) {
    for (const FormulaNode& argument : node.arguments) sums(argument);
    if (node.operation != FormulaOperation::sum) return;
    if (!node.arguments[0].uses.bound.empty() || !node.arguments[1].uses.bound.empty()) return;
    sum_terms(node, {.variable = [&](const std::string& name) { return variable(name, 0, 0); },
                     .parameter = [](std::size_t, double) { return 0.0; }});
  }

  static bool has_sum(const FormulaNode& node) {
    return node.operation == FormulaOperation::sum || std::ranges::any_of(node.arguments, has_sum);
  }

  // Checks the indices of tables that do not clamp them, for all distances within data.length.
  void indices(const FormulaNode& node) {
    for (const FormulaNode& argument : node.arguments) indices(argument);
    if (node.operation != FormulaOperation::parameter || node.arguments.empty()) return;
    const FormulaParameter& table = formula_.parameters[node.parameter];
    const FormulaNode& index = node.arguments[0];
    if (table.outside == FormulaOutside::clamp || !index.uses.bound.empty()) return;
    const std::int64_t most = check_.settings().data.length - 1;
    const std::int64_t step = most < 20000 && !has_sum(index) ? 1 : most;
    // The pair of positions (d, 0) or (0, -d) represents the distance d. An index that is no
    // function of the distance also takes other values between these pairs; the attention checks
    // those when it computes them.
    for (std::int64_t d = check_.both_sides() ? -most : 0; d <= most; d += step) {
      for (const std::int64_t head : {std::int64_t{0}, heads() - 1}) {
        const double at = evaluate_formula(
            index, {.variable = [&](const std::string& name) { return variable(name, d, head); },
                    .parameter = [](std::size_t, double) { return 0.0; }});
        if (at >= 0 && at < static_cast<double>(table.size)) continue;
        throw FormulaError(
            index.column,
            fmt::format("entry {:g} of {}, which has {} (at i = {}, j = {})", at, table.name,
                        table.size, std::max<std::int64_t>(d, 0), std::max<std::int64_t>(-d, 0)),
            "outside: clamp, a larger size, or min and max");
      }
    }
  }

  // Checks the initial values of a formula that uses positions alone, for all distances within
  // data.length. Minus infinity hides a key; any other value that is not finite would spread to
  // every loss.
  void values(const FormulaNode& root) const {
    if (root.uses.score) return;
    const std::int64_t most = check_.settings().data.length - 1;
    const std::int64_t step = most < 20000 && !has_sum(root) ? 1 : std::max<std::int64_t>(most, 1);
    for (std::int64_t d = check_.both_sides() ? -most : 0; d <= most; d += step) {
      for (const std::int64_t head : {std::int64_t{0}, heads() - 1}) {
        const double value = evaluate_formula(
            root, {.variable = [&](const std::string& name) { return variable(name, d, head); },
                   .parameter = [&](std::size_t parameter,
                                    double index) { return initial_of(parameter, index, head); }});
        const auto single = static_cast<float>(value);  // in the model's precision
        if (std::isfinite(single) || (std::isinf(single) && single < 0)) continue;
        throw FormulaError(
            root.column,
            fmt::format("comes to {} (at i = {}, j = {}, head {})",
                        std::isnan(value) ? "no number" : "infinity", std::max<std::int64_t>(d, 0),
                        std::max<std::int64_t>(-d, 0), head),
            "where(condition, number, number), max or abs keep it finite");
      }
    }
  }

  double initial_of(std::size_t parameter, double index, std::int64_t head) const {
    const FormulaParameter& one = formula_.parameters[parameter];
    const auto last = static_cast<double>(std::max<std::int64_t>(one.size, 1) - 1);
    const double at = std::isfinite(index) ? std::clamp(index, 0.0, last) : 0;
    return initial_value(parse_formula(one.initial, initial_names()),
                         {.head = head,
                          .heads = heads(),
                          .layer = 0,
                          .layers = layers(),
                          .index = static_cast<std::int64_t>(at),
                          .size = one.size});
  }

  double variable(const std::string& name, std::int64_t distance, std::int64_t head) const {
    if (name == "i") return static_cast<double>(std::max<std::int64_t>(distance, 0));
    if (name == "j") return static_cast<double>(std::max<std::int64_t>(-distance, 0));
    if (name == "h") return static_cast<double>(head);
    if (name == "heads") return static_cast<double>(heads());
    if (name == "layers") return static_cast<double>(layers());
    if (name == "length") return static_cast<double>(check_.settings().data.length);
    return 0;  // layer
  }
};

void check_formula(const SchemeCheck& check) {
  FormulaCheck(check).run();
}

}  // namespace

SchemeDefinition define_formula() {
  return {
      .facts = {.name = "formula",
                .family = "bias",
                .formula = "S_ij += or = what position.formula.bias or .score says",
                .cost = "fused attention with a bias; a score needs the matrix of scores",
                .longer = "as the formula does",
                .paper = "its source, e.g. in configs/formulas.yaml"},
      .options = formula_options,
      .check = check_formula,
      .shorthand = read_formula,
      .says_itself = [](std::string_view option) { return option == "bias" || option == "score"; }};
}

}  // namespace roformer
