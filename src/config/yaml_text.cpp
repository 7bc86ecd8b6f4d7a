#include "config/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <set>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/shipped.h"
#include "config/value.h"

namespace roformer {
namespace {

constexpr int kDeepest = 50;

// Walks all nodes as their readers will, and follows each alias to its value. A text without
// aliases always passes. Ten lists, each with ten aliases to the list before, would expand to ten
// thousand million values.
class AliasBound {
 public:
  explicit AliasBound(std::size_t letters) : left_(kFree + kTimes * letters) {}

  void visit(const YAML::Node& node, int depth = 0) {
    if (depth > kDeepest) {
      throw YAML::Exception(node.Mark(), fmt::format("more than {} levels deep", kDeepest));
    }
    const std::size_t cost = 1 + (node.IsScalar() ? node.Scalar().size() : 0);
    if (cost > left_) {
      throw YAML::Exception(node.Mark(), "aliases (*NAME) that expand to too many values");
    }
    left_ -= cost;
    if (node.IsSequence()) {
      for (const YAML::Node& item : node) visit(item, depth + 1);
    } else if (node.IsMap()) {
      for (const auto& pair : node) {
        visit(pair.first, depth + 1);
        visit(pair.second, depth + 1);
      }
    }
  }

 private:
  static constexpr std::size_t kFree = 100'000, kTimes = 8;
  std::size_t left_;
};

void refuse_repeated_keys(const YAML::Node& node) {
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) refuse_repeated_keys(item);
  }
  if (!node.IsMap()) return;
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (key == kMergeKey) {
      throw InvalidValue("a map without `<<`: " + std::string(kNoMerging), kInsteadOfMerging);
    }
    if (pair.first.IsScalar() && !seen.insert(key).second) {
      throw InvalidValue("each key once, and " + key + " is there twice");
    }
    refuse_repeated_keys(pair.second);
  }
}

// Whether blanks with a tab begin the line with this number from 0. yaml-cpp's message then names
// something else.
bool is_indented_by_tab(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i <= number; ++i) std::getline(lines, line);
  return number >= 0 &&
         line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string::npos;
}

}  // namespace

YAML::Node parse_document(const std::string& text) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(text);
  for (std::size_t i = 1; i < documents.size(); ++i) {
    if (documents[i].IsNull()) continue;  // an empty document
    throw YAML::Exception(documents[i].Mark(),
                          "a second document follows `---`, but only one is read");
  }
  YAML::Node document = documents.empty() ? YAML::Node() : documents.front();
  AliasBound(text.size()).visit(document);
  return document;
}

YAML::Node parse_document_of(const std::filesystem::path& file, const std::string& hint) {
  const std::string text = read_file(located(file), kLargestDescription);
  try {
    return parse_document(text);
  } catch (const YAML::Exception& problem) {
    const std::string where = fmt::format("{}:{}", file.string(), problem.mark.line + 1);
    if (is_indented_by_tab(text, problem.mark.line)) {
      throw_usage(where, "is not valid YAML: a tab indents the line", "indent with spaces");
    }
    throw_usage(where, "is not valid YAML: " + problem.msg, hint);
  }
}

YAML::Node parse_value(std::string_view text, const std::string& wanted) {
  YAML::Node node;
  try {
    node = parse_document(std::string(text));
  } catch (const YAML::Exception&) {
    throw InvalidValue(wanted);
  }
  refuse_repeated_keys(node);
  return node;
}

}  // namespace roformer
