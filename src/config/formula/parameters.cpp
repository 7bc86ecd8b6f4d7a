#include "config/formula/parameters.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>

#include "config/suggest.h"
#include "config/value.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

constexpr double kPositive = 1e-6;  // least value of `positive: true`
constexpr double kLongestTable = 1 << 20;

const std::vector<std::string> kFields{"per",      "size",  "outside", "initial",
                                       "positive", "least", "most",    "trained"};

template <class Enumeration>
Enumeration word_of(const std::string& text) {
  const auto& words = Words<Enumeration>::texts;
  return static_cast<Enumeration>(parse_word(text, {words.begin(), words.end()}));
}

void read_field(FormulaParameter& parameter, const std::string& field, const std::string& text) {
  if (field == "per") {
    parameter.per = word_of<FormulaScope>(text);
  } else if (field == "size") {
    parameter.size = parse_integer(text, between(1, kLongestTable));
  } else if (field == "outside") {
    parameter.outside = word_of<FormulaOutside>(text);
  } else if (field == "initial") {
    if (text.empty() || text.find_first_of("\"\\\n") != std::string::npos) {
      throw InvalidValue("a number or a formula");
    }
    parameter.initial = text;
  } else if (field == "positive") {
    if (parse_boolean(text) && !parameter.least) parameter.least = kPositive;
  } else if (field == "least") {
    parameter.least = parse_number(text, {});
  } else if (field == "most") {
    parameter.most = parse_number(text, {});
  } else if (field == "trained") {
    parameter.trained = parse_boolean(text);
  } else {
    throw InvalidValue("only " + one_of(kFields).substr(7) + " in it", suggestion(field, kFields));
  }
}

bool is_name(const std::string& text) {
  const auto good = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !text.empty() && text.size() <= 64 && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), good);
}

FormulaParameter parse_one(const std::string& name, const YAML::Node& node) {
  FormulaParameter parameter{.name = name};
  if (!is_name(name)) throw InvalidValue("a name of letters, digits and _");
  if (is_formula_word(name)) {
    throw InvalidValue("another name: every formula has something that is called so");
  }
  if (node.IsScalar()) {  // slope: 0.5
    read_field(parameter, "initial", node.Scalar());
    return parameter;
  }
  if (!node.IsMap()) throw InvalidValue("{per: head, initial: 1, …}");
  for (const auto& pair : node) {
    const std::string field = pair.first.Scalar();
    if (!pair.second.IsScalar()) throw InvalidValue(field + " as a single value");
    try {
      read_field(parameter, field, pair.second.Scalar());
    } catch (const InvalidValue& invalid) {
      const bool known = std::find(kFields.begin(), kFields.end(), field) != kFields.end();
      throw InvalidValue(
          fmt::format("{}{}", known ? field + " as " : "", invalid.what()),
          invalid.hint.empty() ? "got " + field + ": " + pair.second.Scalar() : invalid.hint);
    }
  }
  if (parameter.least && parameter.most && *parameter.least > *parameter.most) {
    throw InvalidValue("a least value that is not above the most");
  }
  return parameter;
}

}  // namespace

std::vector<FormulaParameter> parse_formula_parameters(std::string_view text) {
  constexpr const char* kWanted = "parameters, {slope: {per: head, initial: 1}, …}";
  std::vector<FormulaParameter> parameters;
  if (text.empty()) return parameters;
  const YAML::Node map = parse_value(text, kWanted);
  if (!map.IsMap()) throw InvalidValue(kWanted);
  for (const auto& pair : map) {
    if (!pair.first.IsScalar()) throw InvalidValue(kWanted);
    const std::string name = pair.first.Scalar();
    try {
      parameters.push_back(parse_one(name, pair.second));
    } catch (const InvalidValue& invalid) {
      throw InvalidValue(fmt::format("for {} {}", name, invalid.what()), invalid.hint);
    }
  }
  return parameters;
}

std::string print_formula_parameters(const std::vector<FormulaParameter>& parameters) {
  std::string text;
  for (const FormulaParameter& one : parameters) {
    text += fmt::format("{}{}: {{per: {}", text.empty() ? "" : ", ", one.name,
                        Words<FormulaScope>::texts.at(static_cast<std::size_t>(one.per)));
    if (one.size > 0) {
      text += fmt::format(", size: {}, outside: {}", one.size,
                          Words<FormulaOutside>::texts.at(static_cast<std::size_t>(one.outside)));
    }
    text += fmt::format(", initial: \"{}\"", one.initial);
    if (one.least) text += ", least: " + print_number(*one.least);
    if (one.most) text += ", most: " + print_number(*one.most);
    if (!one.trained) text += ", trained: false";
    text += "}";
  }
  return text.empty() ? "" : "{" + text + "}";
}

FormulaNames formula_names(const FormulaSettings& settings) {
  FormulaNames names{.variables = {"i", "j", "h", "layer", "length", "heads", "layers"}};
  if (!settings.score.empty()) names.variables.emplace_back("score");
  for (const FormulaParameter& parameter : settings.parameters) {
    names.parameters.push_back({.name = parameter.name,
                                .of_head = parameter.of_head(),
                                .of_layer = parameter.of_layer(),
                                .table = parameter.size > 0,
                                .trained = parameter.trained});
  }
  return names;
}

const std::string& formula_text(const FormulaSettings& settings) {
  return settings.score.empty() ? settings.bias : settings.score;
}

FormulaNames initial_names() {
  return {.variables = {"h", "layer", "heads", "layers", "index", "size"}};
}

double initial_value(const FormulaNode& initial, const ParameterEntry& entry) {
  const FormulaValues values{.variable =
                                 [&](const std::string& name) {
                                   return static_cast<double>(name == "h"        ? entry.head
                                                              : name == "heads"  ? entry.heads
                                                              : name == "layer"  ? entry.layer
                                                              : name == "layers" ? entry.layers
                                                              : name == "index"  ? entry.index
                                                                                 : entry.size);
                                 },
                             .parameter = {}};
  return evaluate_formula(initial, values);
}

}  // namespace roformer
