// The syntax of a template in Jinja: the part of the language that the chat templates of Llama,
// Qwen, SmolLM and their kind are written in. Statements: if, for, set, generation. Expressions:
// texts, whole numbers, lists, names, attributes, items, slices, calls, filters, tests, conditions,
// arithmetic and comparisons. Macros, includes and everything else are refused.
#pragma once

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
    string,  // what the literal says
    number,  // digits
    symbol,  // "==", "(", ...
    end
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

// Throws Error (failure, `location`:line) for a tag without its end, and for a character that no
// expression has.
std::vector<JinjaToken> jinja_tokens(std::string_view source, const std::string& location);

struct JinjaExpression {
  enum class Kind : std::uint8_t {
    literal,      // value
    name,         // name
    list,         // parts
    attribute,    // parts[0].name
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1]:parts[2]:parts[3]]; a literal of null where one is missing
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
    loop,       // names over expression, where `filter` holds; body; otherwise
    set,        // names[0], or names[0].names[1], becomes expression
    set_text    // names[0] becomes what body writes
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

// Throws Error (failure, `location`:line) for text that is no template, or has syntax that is not
// read here.
std::vector<JinjaNode> parse_jinja(std::string_view source, const std::string& location);

}  // namespace roformer
