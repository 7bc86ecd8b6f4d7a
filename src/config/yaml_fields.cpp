#include "config/yaml_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "config/suggest.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

SourceLocation location(const std::filesystem::path& file, const YAML::Mark& mark) {
  return file.string() + ":" + std::to_string(mark.line + 1);
}

// `parse` throws InvalidValue for a text that is no such number.
template <class Number, class Parse>
bool read_number(const YAML::Node& node, Number& value, std::string& hint, Parse parse) {
  if (!node.IsScalar()) return false;
  try {
    value = parse(node.Scalar());
    return true;
  } catch (const InvalidValue& invalid) {
    hint = invalid.hint;
    return false;
  }
}

}  // namespace

SourceLocation location_of(const std::filesystem::path& file, const YAML::Node& node) {
  return location(file, node.Mark());
}

std::string describe(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a section";
  return node.IsScalar() ? '"' + node.Scalar() + '"' : "nothing";
}

std::string flow_text(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter.SetSeqFormat(YAML::Flow);
  emitter.SetMapFormat(YAML::Flow);
  emitter << node;
  return emitter.c_str();
}

std::vector<YamlEntry> entries_of(const std::filesystem::path& file, const YAML::Node& map,
                                  Problems& problems) {
  std::vector<YamlEntry> entries;
  std::map<std::string, SourceLocation> seen;
  for (const auto& pair : map) {
    const SourceLocation where = location_of(file, pair.first);
    if (!pair.first.IsScalar()) {
      problems.add(where, "", "a key must be a word");
      continue;
    }
    const std::string& key = pair.first.Scalar();
    if (key == kMergeKey) {
      problems.add(where, key, kNoMerging, kInsteadOfMerging);
    } else if (const auto [first, added] = seen.emplace(key, where); !added) {
      problems.add(where, key, "given twice, first at " + first->second);
    } else {
      entries.push_back({.key = key, .where = where, .value = pair.second});
    }
  }
  return entries;
}

YamlNode YamlNode::child(const std::string& name) const {
  for (const auto& pair : value_) {
    if (pair.first.IsScalar() && pair.first.Scalar() == name) {
      return {pair.second, pair.first.Mark()};
    }
  }
  return {};
}

std::vector<YamlNode> YamlNode::items() const {
  std::vector<YamlNode> items;
  if (!is_list()) return items;
  for (const YAML::Node& item : value_) items.emplace_back(item, item.Mark());
  return items;
}

std::vector<std::string> YamlNode::names() const {
  std::vector<std::string> names;
  if (!is_map()) return names;
  for (const auto& pair : value_) {
    if (!pair.first.IsScalar() || pair.first.Scalar() == kMergeKey) continue;
    names.push_back(pair.first.Scalar());
  }
  return names;
}

bool YamlNode::read(std::string& value, std::string&) const {
  if (value_.IsScalar()) value = value_.Scalar();
  return value_.IsScalar();
}

bool YamlNode::read(std::int64_t& value, std::string& hint) const {
  return read_number(value_, value, hint,
                     [](const std::string& text) { return parse_integer(text, {}); });
}

bool YamlNode::read(std::uint64_t& value, std::string& hint) const {
  return read_number(value_, value, hint, parse_seed);
}

bool YamlNode::read(double& value, std::string& hint) const {
  return read_number(value_, value, hint,
                     [](const std::string& text) { return parse_number(text, {}); });
}

bool YamlNode::read(bool& value, std::string&) const {
  return YAML::convert<bool>::decode(value_, value);
}

void YamlFields::read_map(const std::filesystem::path& file, const YAML::Node& map,
                          const std::string& path, Problems& problems, const Read& read) {
  read_root(map, path, read, std::make_shared<File>(File{.path = file, .problems = problems}));
}

void YamlFields::read_list(std::string_view text, const std::filesystem::path& folder,
                           const std::string& item, const char* wanted, const Read& read) {
  if (text.empty()) return;
  const YAML::Node list = parse_value(text, wanted);
  if (!list.IsSequence()) throw InvalidValue(wanted);
  Problems problems;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = fmt::format("{} {}", item, i + 1);
    read_root(
        list[i], "", read,
        std::make_shared<File>(File{.path = folder / item, .problems = problems, .place = place}));
  }
  if (!problems.empty()) {
    throw InvalidValue(wanted, fmt::format("{}", fmt::join(problems.lines(), "; ")));
  }
}

void YamlFields::read_root(const YAML::Node& map, const std::string& path, const Read& read,
                           const std::shared_ptr<File>& file) {
  const YamlNode root(map, map.Mark());
  const YamlFields fields(root, path.empty() ? "" : path + ".", file);
  if (root.is_map()) {
    fields.read_all(read);
  } else {
    fields.report(root, path, message_of(root, YamlNode::kMap), "");
  }
  std::ranges::stable_sort(file->found, {}, &Found::position);
  for (const Found& found : file->found) file->problems.add(found.problem);
}

void YamlFields::read_all(const Read& read) const {
  entries_of(file_->path, map().value(), file_->problems);  // reports problems of its keys
  read(*this);
  refuse_others([](const std::string& name, const std::vector<std::string>& known) {
    return suggestion(name, known);
  });
}

void YamlFields::in(const YamlNode& item, const std::string& name, const Read& read) const {
  const YamlFields inner = inside(item, name);
  if (inner.map().is_map()) inner.read_all(read);
}

void YamlFields::in(const std::string& name, const Read& read) const {
  if (const YamlNode map = node(name); map.is_there()) in(map, name, read);
}

void YamlFields::each(const std::string& name, const Read& read) const {
  for (const YamlNode& item : items(name)) in(item, name, read);
}

std::vector<YamlNode> YamlFields::items(const std::string& name) const {
  const YamlNode list = node(name);
  if (list.is_there() && !list.is_list()) refuse(name, "a list");
  return list.items();
}

std::filesystem::path YamlFields::file(const std::string& name) const {
  const std::string given = text(name, "");
  return given.empty() ? std::filesystem::path()
                       : (file_->path.parent_path() / given).lexically_normal();
}

std::vector<std::filesystem::path> YamlFields::files(const std::string& name) const {
  std::vector<std::filesystem::path> files;
  if (!has(name)) return files;
  if (node(name).is_list() && node(name).items().empty()) complain(name, "is an empty list");
  for (const std::string& given : texts(name)) {
    files.push_back((file_->path.parent_path() / given).lexically_normal());
  }
  return files;
}

void YamlFields::refuse(const std::string& name, const std::string& wanted,
                        std::string hint) const {
  complain(name, message_of(node(name), wanted), std::move(hint));
}

void YamlFields::complain(const std::string& name, std::string message, std::string hint) const {
  const YamlNode field = name.empty() ? YamlNode() : node(name);
  const std::string section = path().substr(0, path().empty() ? 0 : path().size() - 1);
  report(field.is_there() ? field : map(), name.empty() ? section : path() + name, message, hint);
}

SourceLocation YamlFields::where(const std::string& name) const {
  const YamlNode field = name.empty() ? YamlNode() : node(name);
  return where(field.is_there() ? field : map());
}

SourceLocation YamlFields::where(const YamlNode& item) const {
  return file_->place.empty() ? location(file_->path, item.mark()) : file_->place;
}

void YamlFields::report(const YamlNode& node, const std::string& field, const std::string& message,
                        const std::string& hint) const {
  file_->found.push_back(
      {.position = node.mark().pos,
       .problem = {.where = where(node), .key = field, .message = message, .hint = hint}});
}

}  // namespace roformer
