#include "config/formula/library.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "base/file.h"
#include "config/suggest.h"
#include "config/value.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

const std::vector<std::string> kFormulaKeys{"bias", "score", "parameters", "source", "name"};

YAML::Node library_of(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw InvalidValue("FILE#NAME, but there is no file " + file.string(),
                       "the path is relative to the file that says it");
  }
  YAML::Node root;
  try {
    root = parse_document(read_file(file, kLargestDescription));
  } catch (const YAML::Exception& problem) {
    throw InvalidValue("FILE#NAME, but " + file.string() + ":" +
                       std::to_string(problem.mark.line + 1) + " is not valid YAML: " +
                       problem.msg);
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
  if (std::find(names.begin(), names.end(), name) == names.end()) {
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
    if (std::find(kFormulaKeys.begin(), kFormulaKeys.end(), key) == kFormulaKeys.end()) {
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
  // What the formula does not say must not be left from another one.
  for (const std::string& key : kFormulaKeys) {
    const auto said = [&](const SchemeOption& option) { return option.option == key; };
    if (std::none_of(options.begin(), options.end(), said))
      options.push_back({.option = key, .text = ""});
  }
  return options;
}

}  // namespace roformer
