#include "config/formula/parameters.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <system_error>

#include "base/file.h"
#include "base/shipped.h"
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
         std::ranges::all_of(text, good);
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
      const bool known = std::ranges::find(kFields, field) != kFields.end();
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

namespace {

const std::vector<std::string> kFormulaKeys{"bias", "score", "parameters", "source", "name"};

YAML::Node library_of(const std::filesystem::path& file) {
  const std::filesystem::path place = located(file);
  std::error_code error;
  if (!std::filesystem::is_regular_file(place, error)) {
    throw InvalidValue("FILE#NAME, but there is no file " + file.string(),
                       "the path is relative to the file that says it");
  }
  YAML::Node root;
  try {
    root = parse_document(read_file(place, kLargestDescription));
  } catch (const YAML::Exception& problem) {
    throw InvalidValue("FILE#NAME, but " + file.string() + ":" +
                       std::to_string(problem.mark.line + 1) +
                       " is not valid YAML: " + problem.msg);
  }
  if (!root.IsMap()) {
    throw InvalidValue("FILE#NAME, but " + file.string() + " lists no formulas",
                       "NAME: {bias: ..., parameters: {...}, source: ...}");
  }
  return root;
}

std::string text_of(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  YAML::Emitter emitter;
  emitter.SetSeqFormat(YAML::Flow);
  emitter.SetMapFormat(YAML::Flow);
  emitter << node;
  return emitter.c_str();
}

}  // namespace

std::vector<SchemeOption> read_formula(std::string_view text, const std::filesystem::path& folder) {
  const std::size_t sign = text.rfind('#');
  if (sign == std::string_view::npos) {
    if (text.empty()) throw InvalidValue("a formula, or FILE#NAME");
    if (text.ends_with(".yaml")) throw InvalidValue("FILE#NAME, without #NAME here");
    return {{.option = "bias", .text = std::string(text)}};
  }
  const std::filesystem::path file = (folder / text.substr(0, sign)).lexically_normal();
  const std::string name(text.substr(sign + 1));
  const YAML::Node library = library_of(file);
  std::vector<std::string> names;
  YAML::Node formula;
  for (const auto& pair : library) {
    if (!pair.first.IsScalar()) continue;
    names.push_back(pair.first.Scalar());
    if (names.back() == name) formula = pair.second;
  }
  if (std::ranges::find(names, name) == names.end()) {
    std::string all;
    for (const std::string& known : names) all += (all.empty() ? "" : ", ") + known;
    const std::string near = suggestion(name, names);
    throw InvalidValue("a formula of " + file.string(), near.empty() ? "it has " + all : near);
  }
  if (!formula.IsMap())
    throw InvalidValue("a formula with bias or score, which " + name + " lacks");
  const SourceLocation where = file.string() + ":" + std::to_string(formula.Mark().line + 1);
  std::vector<SchemeOption> options;
  for (const auto& pair : formula) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (std::ranges::find(kFormulaKeys, key) == kFormulaKeys.end()) {
      throw InvalidValue("only " + one_of(kFormulaKeys).substr(7) + " in " + name,
                         suggestion(key, kFormulaKeys));
    }
    options.push_back({.option = key, .text = text_of(pair.second), .where = where});
  }
  const auto says = [&](const char* key) {
    return std::ranges::count(options, key, &SchemeOption::option) > 0;
  };
  if (!says("bias") && !says("score")) {
    throw InvalidValue("a formula with bias or score, which " + name + " lacks");
  }
  // Resets the options that this formula does not set, so that none remains from another formula.
  for (const std::string& key : kFormulaKeys) {
    const auto said = [&](const SchemeOption& option) { return option.option == key; };
    if (std::ranges::none_of(options, said)) options.push_back({.option = key, .text = ""});
  }
  return options;
}

}  // namespace roformer
