// The syntax of a Jinja template, limited to the part of the language in the chat templates of
// Llama, Qwen, SmolLM and similar models. Statements: if, for, set, generation. Expressions: texts,
// whole numbers, lists, names, attributes, items, slices, calls, filters, tests, conditions,
// arithmetic and comparisons. Macros, includes and everything else are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer {

using JinjaValue = nlohmann::ordered_json;  // value_t::discarded: undefined

// A token: text between tags, or a part of {{ ... }} or {% ... %}. White space around tags is cut
// as transformers does (trim_blocks and lstrip_blocks are on).
struct JinjaToken {
  enum class Kind : std::uint8_t {
    text,             // between tags
    begin_output,     // {{
    end_output,       // }}
    begin_statement,  // {%
    end_statement,    // %}
    name,
    string,  // the value of a literal
    number,  // digits
    symbol,  // "==", "(", ...
    end
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

// Throws Error (failure, `location`:line) for a tag without its end, and for a character that no
// expression allows.
std::vector<JinjaToken> jinja_tokens(std::string_view source, const std::string& location);

struct JinjaExpression {
  enum class Kind : std::uint8_t {
    literal,      // value
    name,         // name
    list,         // parts
    attribute,    // parts[0].name
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]]; a null literal for a missing part
    call,         // parts[0](the other parts, named)
    filter,       // parts[0] | name(the other parts, named)
    test,         // parts[0] is name(the other parts)
    negative,     // -parts[0]
    inverse,      // not parts[0]
    both,         // parts[0] and parts[1]
    either,       // parts[0] or parts[1]
    conditional,  // parts[1] if parts[0] else parts[2]
    operation     // parts[0] name parts[1]: + - * / // % ~ == != < <= > >= in
  };
  Kind kind = Kind::literal;
  int line = 1;
  int depth = 1;  // of expressions inside each other
  std::string name = {};
  JinjaValue value = nullptr;
  std::vector<JinjaExpression> parts = {};
  std::vector<std::pair<std::string, JinjaExpression>> named = {};
};

struct JinjaNode {
  enum class Kind : std::uint8_t {
    text,       // text
    output,     // expression
    condition,  // branches in their order, then otherwise
    loop,       // names over expression, filtered by `filter`; body; otherwise
    set,        // names[0], or names[0].names[1], becomes expression
    set_text    // names[0] becomes the output of body
  };
  struct Branch {
    JinjaExpression condition;
    std::vector<JinjaNode> body;
  };
  Kind kind = Kind::text;
  int line = 1;
  std::string text = {};
  std::vector<std::string> names = {};
  JinjaExpression expression = {};
  JinjaExpression filter = {.value = true};
  std::vector<Branch> branches = {};
  std::vector<JinjaNode> body = {};
  std::vector<JinjaNode> otherwise = {};
};

// Throws Error (failure, `location`:line) for text that is no template or has unsupported syntax.
std::vector<JinjaNode> parse_jinja(std::string_view source, const std::string& location);

// Values of a template and the operations on them: operators, filters, tests and methods as Python
// and Jinja define them, limited to those in chat templates.

struct JinjaArguments {
  std::vector<JinjaValue> values;
  std::vector<std::pair<std::string, JinjaValue>> named;
};

bool is_undefined(const JinjaValue& value);
bool is_true(const JinjaValue& value);
// "a text", "a number": for messages.
std::string kind_of_value(const JinjaValue& value);

// All of these throw JinjaProblem with the reason.
struct JinjaProblem {
  std::string message;
};

inline constexpr std::size_t kLongestChatText = std::size_t{1} << 20;

// A limit for the work of one rendering, because an untrusted template may request any amount. A
// step is about one byte read or written. Work is charged before it is done.
class JinjaWork {
 public:
  // Throws JinjaProblem if the work exceeds the limit.
  void charge(std::uint64_t steps);

 private:
  std::uint64_t left_ = std::uint64_t{64} << 20;
};
// Steps to make any value, in addition to its bytes; its memory is about as many bytes.
inline constexpr std::uint64_t kStepsOfValue = 64;
// Steps to copy the value.
std::uint64_t steps_of_value(const JinjaValue& value);
// Steps to find or add a name in a mapping, which is searched name by name.
std::uint64_t steps_of_lookup(const JinjaValue& mapping);

// The text that an output writes.
std::string written_value(const JinjaValue& value);
JinjaValue jinja_operation(const std::string& name, const JinjaValue& left, const JinjaValue& right,
                           JinjaWork& work);
JinjaValue jinja_filter(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaWork& work);
bool jinja_test(const std::string& name, const JinjaValue& value, const JinjaArguments& arguments,
                JinjaWork& work);
JinjaValue jinja_method(const std::string& name, const JinjaValue& value,
                        const JinjaArguments& arguments, JinjaWork& work);
JinjaValue jinja_slice(const JinjaValue& value, const JinjaValue& begin, const JinjaValue& end,
                       const JinjaValue& step, JinjaWork& work);
// Undefined if there is none.
JinjaValue jinja_item(const JinjaValue& value, const JinjaValue& index, JinjaWork& work);
JinjaValue jinja_range(const JinjaArguments& arguments, JinjaWork& work);

}  // namespace roformer
