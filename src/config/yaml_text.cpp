#include "config/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <set>
#include <vector>

#include "config/value.h"

namespace roformer {
namespace {

constexpr int kDeepest = 50;

void refuse_repeated_keys(const YAML::Node& node, const std::string& wanted, int depth = 0) {
  if (depth > kDeepest) throw InvalidValue(wanted);
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) refuse_repeated_keys(item, wanted, depth + 1);
  }
  if (!node.IsMap()) return;
  std::set<std::string> seen;
  for (const auto& pair : node) {
    if (pair.first.IsScalar() && !seen.insert(pair.first.Scalar()).second) {
      throw InvalidValue("each key once, and " + pair.first.Scalar() + " is there twice");
    }
    refuse_repeated_keys(pair.second, wanted, depth + 1);
  }
}

}  // namespace

YAML::Node parse_document(const std::string& text) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(text);
  for (std::size_t i = 1; i < documents.size(); ++i) {
    if (documents[i].IsNull()) continue;  // nothing stands there
    throw YAML::Exception(documents[i].Mark(),
                          "a second document stands behind `---`, and one is read");
  }
  return documents.empty() ? YAML::Node() : documents.front();
}

YAML::Node parse_value(std::string_view text, const std::string& wanted) {
  YAML::Node node;
  try {
    node = parse_document(std::string(text));
  } catch (const YAML::Exception&) {
    throw InvalidValue(wanted);
  }
  refuse_repeated_keys(node, wanted);
  return node;
}

}  // namespace roformer
