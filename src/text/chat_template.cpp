#include "text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "text/jinja.h"
#include "text/utf8.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTemplate = "chat template";
constexpr std::array<std::string_view, 4> kFunctions = {"raise_exception", "namespace", "range",
                                                        "strftime_now"};
std::string date_now(const std::string& format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 256> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format.c_str(), &parts)};
}

class ChatRenderer {
 public:
  explicit ChatRenderer(std::map<std::string, JinjaValue> variables) {
    scopes_.push_back(std::move(variables));
  }

  std::string render(const std::vector<JinjaNode>& nodes) {
    write_all(nodes);
    return std::move(text_);
  }

 private:
  std::vector<std::map<std::string, JinjaValue>> scopes_;
  std::string text_;
  JinjaWork work_;

  [[noreturn]] static void refuse(int line, const std::string& message) {
    throw_failure(fmt::format("{}:{}", kTemplate, line), message,
                  "write the prompt as text, without --chat");
  }

  // Calls action(), and adds the place to its errors.
  template <class Action>
  static auto at_line(int line, Action action) {
    try {
      return action();
    } catch (const JinjaProblem& problem) {
      refuse(line, problem.message);
    }
  }

  void charge(int line, std::uint64_t steps) {
    at_line(line, [&] { work_.charge(steps); });
  }
  void append(int line, std::string_view text) {
    charge(line, text.size());
    if (text.size() > kLongestChatText - text_.size()) refuse(line, "writes more than 1 MiB");
    text_ += text;
  }

  void write_all(const std::vector<JinjaNode>& nodes) {
    for (const JinjaNode& node : nodes) write(node);
  }

  void write(const JinjaNode& node) {
    charge(node.line, kStepsOfValue);
    switch (node.kind) {
      case JinjaNode::Kind::text:
        append(node.line, node.text);
        break;
      case JinjaNode::Kind::output:
        append(node.line,
               at_line(node.line, [&] { return written_value(value_of(node.expression)); }));
        break;
      case JinjaNode::Kind::condition:
        write_branch(node);
        break;
      case JinjaNode::Kind::loop:
        write_loop(node);
        break;
      case JinjaNode::Kind::set:
        set(node, value_of(node.expression));
        break;
      case JinjaNode::Kind::set_text: {
        std::string outer = std::exchange(text_, "");
        write_all(node.body);
        set(node, std::exchange(text_, std::move(outer)));
        break;
      }
    }
  }

  void write_branch(const JinjaNode& node) {
    for (const JinjaNode::Branch& branch : node.branches) {
      if (is_true(value_of(branch.condition))) return write_all(branch.body);
    }
    write_all(node.otherwise);
  }

  void bind(const JinjaNode& node, const JinjaValue& entry) {
    auto& scope = scopes_.back();
    if (node.names.size() == 1) {
      scope[node.names[0]] = entry;
      return;
    }
    if (!entry.is_array() || entry.size() != node.names.size()) {
      refuse(node.line,
             fmt::format("takes {} apart into {} names", kind_of_value(entry), node.names.size()));
    }
    for (std::size_t i = 0; i < node.names.size(); ++i) scope[node.names[i]] = entry[i];
  }

  void write_loop(const JinjaNode& node) {
    const JinjaValue whole = value_of(node.expression);
    // Copies: the list, the entries that stay, and each as an entry, its previous and its next.
    charge(node.line, 6 * steps_of_value(whole));
    JinjaValue list = JinjaValue::array();
    if (whole.is_object()) {
      for (const auto& [name, entry] : whole.items()) list.push_back(name);
    } else if (whole.is_array()) {
      list = whole;
    } else if (!is_undefined(whole)) {
      refuse(node.line, fmt::format("goes through {}", kind_of_value(whole)));
    }
    JinjaValue entries = JinjaValue::array();
    constexpr std::uint64_t kStepsOfTurn = 16 * kStepsOfValue;  // a scope, and "loop" in it
    for (const JinjaValue& entry : list) {
      charge(node.line, kStepsOfValue);
      scopes_.emplace_back();
      bind(node, entry);
      if (is_true(value_of(node.filter))) entries.push_back(entry);
      scopes_.pop_back();
    }
    const auto size = static_cast<std::int64_t>(entries.size());
    for (std::int64_t i = 0; i < size; ++i) {
      charge(node.line, kStepsOfTurn);
      scopes_.emplace_back();
      bind(node, entries[static_cast<std::size_t>(i)]);
      JinjaValue& loop = scopes_.back()["loop"];
      loop = {{"index", i + 1},           {"index0", i},    {"first", i == 0},
              {"last", i + 1 == size},    {"length", size}, {"revindex", size - i},
              {"revindex0", size - i - 1}};
      if (i > 0) loop["previtem"] = entries[static_cast<std::size_t>(i - 1)];
      if (i + 1 < size) loop["nextitem"] = entries[static_cast<std::size_t>(i + 1)];
      write_all(node.body);
      scopes_.pop_back();
    }
    if (size == 0) write_all(node.otherwise);
  }

  // Null if no scope has the name.
  JinjaValue* find(const std::string& name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) return &found->second;
    }
    return nullptr;
  }

  void set(const JinjaNode& node, JinjaValue value) {
    if (node.names.size() == 1) {
      scopes_.back()[node.names[0]] = std::move(value);
      return;
    }
    JinjaValue* const space = find(node.names[0]);
    if (space == nullptr || !space->is_object()) {
      refuse(node.line,
             fmt::format("sets a part of {}, which is no namespace", printable(node.names[0])));
    }
    charge(node.line, steps_of_lookup(*space));
    (*space)[node.names[1]] = std::move(value);
  }

  JinjaValue value_of(const JinjaExpression& expression) {
    JinjaValue value = at_line(expression.line, [&] { return compute(expression); });
    charge(expression.line, steps_of_value(value));
    return value;
  }

  // The item of the expression's value. A variable is read in place, without a copy.
  JinjaValue item_of(const JinjaExpression& expression, const JinjaValue& index) {
    if (expression.kind == JinjaExpression::Kind::name) {
      if (const JinjaValue* const held = find(expression.name)) {
        return jinja_item(*held, index, work_);
      }
    }
    return jinja_item(value_of(expression), index, work_);
  }

  JinjaArguments arguments_of(const JinjaExpression& expression) {
    JinjaArguments arguments;
    for (std::size_t i = 1; i < expression.parts.size(); ++i) {
      arguments.values.push_back(value_of(expression.parts[i]));
    }
    for (const auto& [name, part] : expression.named) {
      arguments.named.emplace_back(name, value_of(part));
    }
    return arguments;
  }

  JinjaValue compute(const JinjaExpression& expression) {
    using Kind = JinjaExpression::Kind;
    const std::vector<JinjaExpression>& parts = expression.parts;
    switch (expression.kind) {
      case Kind::literal:
        return expression.value;
      case Kind::name: {
        const JinjaValue* const found = find(expression.name);
        if (found == nullptr) return JinjaValue(JinjaValue::value_t::discarded);
        work_.charge(steps_of_value(*found));
        return *found;
      }
      case Kind::list: {
        JinjaValue list = JinjaValue::array();
        for (const JinjaExpression& part : parts) list.push_back(value_of(part));
        return list;
      }
      case Kind::attribute:
        return item_of(parts[0], expression.name);
      case Kind::item:
        return item_of(parts[0], value_of(parts[1]));
      case Kind::slice:
        return jinja_slice(value_of(parts[0]), value_of(parts[1]), value_of(parts[2]),
                           value_of(parts[3]), work_);
      case Kind::call:
        return call(expression);
      case Kind::filter:
        return jinja_filter(expression.name, value_of(parts[0]), arguments_of(expression), work_);
      case Kind::test:
        return test(expression);
      case Kind::negative:
        return jinja_operation("-", 0, value_of(parts[0]), work_);
      case Kind::inverse:
        return !is_true(value_of(parts[0]));
      case Kind::both: {
        JinjaValue left = value_of(parts[0]);
        return is_true(left) ? value_of(parts[1]) : left;
      }
      case Kind::either: {
        JinjaValue left = value_of(parts[0]);
        return is_true(left) ? left : value_of(parts[1]);
      }
      case Kind::conditional:
        return value_of(parts[is_true(value_of(parts[0])) ? 1 : 2]);
      case Kind::operation:
        return jinja_operation(expression.name, value_of(parts[0]), value_of(parts[1]), work_);
    }
    refuse(expression.line, "has an expression of an unknown kind");
  }

  // The functions also count as defined.
  JinjaValue test(const JinjaExpression& expression) {
    const JinjaExpression& tested = expression.parts[0];
    const bool function = tested.kind == JinjaExpression::Kind::name &&
                          find(tested.name) == nullptr &&
                          std::ranges::find(kFunctions, tested.name) != kFunctions.end();
    if (function && expression.name == "defined") return true;
    return jinja_test(expression.name, value_of(tested), arguments_of(expression), work_);
  }

  JinjaValue call(const JinjaExpression& expression) {
    const JinjaExpression& callee = expression.parts[0];
    JinjaArguments arguments = arguments_of(expression);
    if (callee.kind == JinjaExpression::Kind::attribute) {
      return jinja_method(callee.name, value_of(callee.parts[0]), arguments, work_);
    }
    const std::string name = callee.kind == JinjaExpression::Kind::name ? callee.name : "";
    const bool one_text = arguments.values.size() == 1 && arguments.values[0].is_string();
    if (name == "raise_exception" && one_text) {
      refuse(expression.line,
             "refuses the conversation: " + printable(arguments.values[0].get<std::string>()));
    }
    if (name == "strftime_now" && one_text) return date_now(arguments.values[0].get<std::string>());
    if (name == "range") return jinja_range(arguments, work_);
    if (name == "namespace" && arguments.values.empty()) {
      JinjaValue space = JinjaValue::object();
      for (auto& [key, value] : arguments.named) {
        work_.charge(steps_of_lookup(space));
        space[key] = std::move(value);
      }
      return space;
    }
    refuse(expression.line,
           fmt::format("calls the function {}, which is not computed here", printable(name)));
  }
};

std::vector<JinjaNode> parsed_template(const ChatFormat& chat) {
  if (chat.source.size() > kLongestChatTemplate) throw_failure(kTemplate, "is larger than 1 MiB");
  if (!is_valid_utf8(chat.source)) throw_failure(kTemplate, "is not valid UTF-8");
  return parse_jinja(chat.source, kTemplate);
}

// The folder's own file, or a file of the cache if the folder is snapshots/REVISION in it. The file
// and the folder have no links in their paths.
bool belongs_to(const fs::path& folder, const fs::path& file) {
  if (file.parent_path() == folder.parent_path().parent_path() / "blobs") return true;
  const fs::path inner = file.lexically_relative(folder);
  return !inner.empty() && *inner.begin() != ".." && !inner.is_absolute();
}

}  // namespace

std::string read_template_file(const fs::path& folder, TemplateLink link) {
  const fs::path path = folder / kChatTemplateFile;
  std::error_code error;
  if (!fs::is_symlink(path, error)) return read_plain_file(path, kLongestChatTemplate);
  const std::string target = printable(fs::read_symlink(path, error).string());
  if (link == TemplateLink::refused) {
    throw_failure(path.string(),
                  fmt::format("is a link to {}, and a template is not read through a link", target),
                  "put a copy of the file in its place");
  }
  const fs::path file = fs::canonical(path, error);
  if (error) {
    throw_failure(path.string(), fmt::format("is a link to {}, which leads nowhere", target));
  }
  const fs::path whole_folder = fs::canonical(folder, error);
  if (error || !belongs_to(whole_folder, file)) {
    throw_failure(path.string(),
                  fmt::format("is a link to {}, outside the folder and its cache", target),
                  "put a copy of the file in its place");
  }
  return read_plain_file(file, kLongestChatTemplate);
}

void check_chat(const ChatFormat& chat) {
  parsed_template(chat);
}

// The variables that transformers gives a template.
std::string render_chat(const ChatFormat& chat, const std::vector<ChatMessage>& messages) {
  JinjaValue list = JinjaValue::array();
  for (const ChatMessage& message : messages) {
    list.push_back({{"role", message.role}, {"content", ValidText(message.content).text}});
  }
  std::map<std::string, JinjaValue> variables = {{"messages", std::move(list)},
                                                 {"add_generation_prompt", true},
                                                 {"tools", nullptr},
                                                 {"documents", nullptr}};
  if (!chat.begin.empty()) variables["bos_token"] = chat.begin;
  if (!chat.end.empty()) variables["eos_token"] = chat.end;
  return ChatRenderer(std::move(variables)).render(parsed_template(chat));
}

}  // namespace roformer
