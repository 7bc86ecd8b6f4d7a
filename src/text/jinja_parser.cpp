#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/as_number.h"
#include "base/error.h"
#include "base/printable.h"
#include "text/jinja.h"

namespace roformer {
namespace {

class JinjaParser {
  using TokenKind = JinjaToken::Kind;
  using Syntax = JinjaExpression::Kind;
  static constexpr int kDeepestTemplate = 100;  // expressions and statements inside each other

 public:
  JinjaParser(std::string_view source, const std::string& location)
      : location_(location), tokens_(jinja_tokens(source, location)) {}

  std::vector<JinjaNode> read() { return read_body({}); }

 private:
  const std::string& location_;
  std::vector<JinjaToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;

  struct Deeper {
    JinjaParser& parser;
    explicit Deeper(JinjaParser& of) : parser(of) {
      if (++parser.depth_ > kDeepestTemplate) parser.refuse("nests too deeply");
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
  };

  [[noreturn]] void refuse(const std::string& message) const {
    throw_failure(
        fmt::format("{}:{}", location_, now().line), message,
        "the part of Jinja that the chat templates of Llama, Qwen and SmolLM use is read");
  }
  const JinjaToken& now() const { return tokens_[at_]; }
  const JinjaToken& ahead(std::size_t by) const {
    return tokens_[std::min(at_ + by, tokens_.size() - 1)];
  }
  void advance() { at_ = std::min(at_ + 1, tokens_.size() - 1); }
  bool is(TokenKind kind, std::string_view text) const {
    return now().kind == kind && now().text == text;
  }
  bool take(TokenKind kind, std::string_view text) {
    if (!is(kind, text)) return false;
    advance();
    return true;
  }
  bool take_symbol(std::string_view text) { return take(TokenKind::symbol, text); }
  bool take_word(std::string_view text) { return take(TokenKind::name, text); }
  std::string described() const {
    switch (now().kind) {
      case TokenKind::text:
      case TokenKind::end:
        return "the end";
      case TokenKind::begin_output:
      case TokenKind::begin_statement:
        return "a tag";
      case TokenKind::end_output:
      case TokenKind::end_statement:
        return "the end of the tag";
      default:
        return printable(now().text);
    }
  }
  void expect_symbol(std::string_view text) {
    if (!take_symbol(text)) refuse(fmt::format("has {} where \"{}\" is wanted", described(), text));
  }
  void expect_end() {
    if (now().kind != TokenKind::end_statement) {
      refuse(fmt::format("has {} where \"%}}\" is wanted", described()));
    }
    advance();
  }
  std::string expect_name() {
    if (now().kind != TokenKind::name) {
      refuse(fmt::format("has {} where a name is wanted", described()));
    }
    std::string name = now().text;
    advance();
    return name;
  }

  // Whether the next statement has one of these names.
  bool at_statement(std::initializer_list<std::string_view> names) const {
    return now().kind == TokenKind::begin_statement && ahead(1).kind == TokenKind::name &&
           std::ranges::find(names, ahead(1).text) != names.end();
  }
  // "{% name %}", the end of the statement `of`.
  void expect_statement(const char* name, const char* of) {
    if (!at_statement({name})) refuse(fmt::format("\"{}\" has no \"{}\"", of, name));
    at_ += 2;
    expect_end();
  }
  // The body after an "else". Empty if there is none.
  std::vector<JinjaNode> read_otherwise(std::string_view end) {
    if (!at_statement({"else"})) return {};
    at_ += 2;
    expect_end();
    return read_body({end});
  }

  // Parses up to a statement with one of these names, which stays unread, or to the end.
  std::vector<JinjaNode> read_body(std::initializer_list<std::string_view> ends) {
    std::vector<JinjaNode> nodes;
    append_body(nodes, ends);
    return nodes;
  }
  void append_body(std::vector<JinjaNode>& nodes, std::initializer_list<std::string_view> ends) {
    const Deeper deeper(*this);
    while (now().kind != TokenKind::end && !at_statement(ends)) {
      if (now().kind == TokenKind::text) {
        nodes.push_back({.text = now().text});
        advance();
      } else if (now().kind == TokenKind::begin_output) {
        const int line = now().line;
        advance();
        nodes.push_back(
            {.kind = JinjaNode::Kind::output, .line = line, .expression = read_expression()});
        if (now().kind != TokenKind::end_output) {
          refuse(fmt::format("has {} where \"}}}}\" is wanted", described()));
        }
        advance();
      } else {
        read_statement(nodes);
      }
    }
  }

  void read_statement(std::vector<JinjaNode>& nodes) {
    const int line = now().line;
    advance();
    const std::string name = expect_name();
    if (name == "if") {
      nodes.push_back(read_if(line));
    } else if (name == "for") {
      nodes.push_back(read_for(line));
    } else if (name == "set") {
      nodes.push_back(read_set(line));
    } else if (name == "generation") {  // marks what a model wrote: nothing to a text
      expect_end();
      append_body(nodes, {"endgeneration"});
      expect_statement("endgeneration", "generation");
    } else if (name.starts_with("end") || name == "else" || name == "elif") {
      refuse(fmt::format("\"{}\" ends nothing", name));
    } else {
      refuse(fmt::format("has the statement {}, which is not computed here", printable(name)));
    }
  }

  JinjaNode read_if(int line) {
    JinjaNode node = {.kind = JinjaNode::Kind::condition, .line = line};
    for (bool more = true; more;) {
      JinjaExpression condition = read_expression();
      expect_end();
      std::vector<JinjaNode> body = read_body({"elif", "else", "endif"});
      node.branches.push_back({.condition = std::move(condition), .body = std::move(body)});
      more = at_statement({"elif"});
      if (more) at_ += 2;
    }
    node.otherwise = read_otherwise("endif");
    expect_statement("endif", "if");
    return node;
  }

  JinjaNode read_for(int line) {
    JinjaNode node = {.kind = JinjaNode::Kind::loop, .line = line};
    do {
      node.names.push_back(expect_name());
    } while (take_symbol(","));
    if (!take_word("in")) refuse(fmt::format("has {} where \"in\" is wanted", described()));
    node.expression = read_either();  // an "if" after it is the loop's
    if (take_word("if")) node.filter = read_expression();
    expect_end();
    node.body = read_body({"else", "endfor"});
    node.otherwise = read_otherwise("endfor");
    expect_statement("endfor", "for");
    return node;
  }

  JinjaNode read_set(int line) {
    JinjaNode node = {.kind = JinjaNode::Kind::set, .line = line, .names = {expect_name()}};
    if (take_symbol(".")) node.names.push_back(expect_name());
    if (take_symbol("=")) {
      node.expression = read_expression();
      expect_end();
      return node;
    }
    node.kind = JinjaNode::Kind::set_text;
    expect_end();
    node.body = read_body({"endset"});
    expect_statement("endset", "set");
    return node;
  }

  // Moves the parts: an initializer list would copy the tree of a long row at each operation.
  template <class... Parts>
  JinjaExpression made_with_name(Syntax kind, int line, std::string name, Parts&&... parts) const {
    JinjaExpression result = {.kind = kind, .line = line, .name = std::move(name)};
    result.parts.reserve(sizeof...(parts));
    (result.parts.push_back(std::forward<Parts>(parts)), ...);
    measure(result);
    return result;
  }
  template <class... Parts>
  JinjaExpression made(Syntax kind, int line, Parts&&... parts) const {
    return made_with_name(kind, line, "", std::forward<Parts>(parts)...);
  }
  // A long row of operations is a tree as deep as nested brackets.
  void measure(JinjaExpression& expression) const {
    constexpr int kDeepestExpression = 500;
    for (const JinjaExpression& part : expression.parts) {
      expression.depth = std::max(expression.depth, part.depth + 1);
    }
    for (const auto& [name, part] : expression.named) {
      expression.depth = std::max(expression.depth, part.depth + 1);
    }
    if (expression.depth > kDeepestExpression) refuse("nests too deeply");
  }
  static JinjaExpression literal(JinjaValue value, int line) {
    return {.line = line, .value = std::move(value)};
  }

  JinjaExpression read_expression() {
    const Deeper deeper(*this);
    JinjaExpression value = read_either();
    const int line = now().line;
    if (!take_word("if")) return value;
    JinjaExpression condition = read_either();
    JinjaExpression otherwise = take_word("else")
                                    ? read_expression()
                                    : literal(JinjaValue(JinjaValue::value_t::discarded), line);
    return made(Syntax::conditional, line, std::move(condition), std::move(value),
                std::move(otherwise));
  }

  JinjaExpression read_either() {
    return read_row("or", Syntax::either, [&] { return read_both(); });
  }
  JinjaExpression read_both() {
    return read_row("and", Syntax::both, [&] { return read_inverse(); });
  }
  template <class Next>
  JinjaExpression read_row(std::string_view word, Syntax kind, Next next) {
    JinjaExpression left = next();
    for (int line = now().line; take_word(word); line = now().line) {
      left = made(kind, line, std::move(left), next());
    }
    return left;
  }
  JinjaExpression read_inverse() {
    const Deeper deeper(*this);
    const int line = now().line;
    if (take_word("not")) return made(Syntax::inverse, line, read_inverse());
    return read_comparison();
  }

  JinjaExpression read_comparison() {
    JinjaExpression left = read_sum();
    const int line = now().line;
    const bool inverted =
        is(TokenKind::name, "not") && ahead(1).kind == TokenKind::name && ahead(1).text == "in";
    if (inverted) advance();
    std::string operation = comparison();
    if (is(TokenKind::name, "in")) operation = "in";
    if (operation.empty()) return left;
    advance();
    JinjaExpression result =
        made_with_name(Syntax::operation, line, std::move(operation), std::move(left), read_sum());
    if (inverted) result = made(Syntax::inverse, line, std::move(result));
    if (!comparison().empty()) refuse("compares three values at once");
    return result;
  }
  // The next comparison, if there is one.
  std::string comparison() const {
    for (const std::string_view name : {"==", "!=", "<", "<=", ">", ">="}) {
      if (is(TokenKind::symbol, name)) return std::string(name);
    }
    return "";
  }

  template <class Next>
  JinjaExpression read_operations(std::initializer_list<std::string_view> names, Next next) {
    JinjaExpression left = next();
    while (now().kind == TokenKind::symbol && std::ranges::find(names, now().text) != names.end()) {
      const int line = now().line;
      std::string name = now().text;
      advance();
      left = made_with_name(Syntax::operation, line, std::move(name), std::move(left), next());
    }
    return left;
  }
  JinjaExpression read_sum() {
    return read_operations({"+", "-"}, [&] { return read_joined(); });
  }
  JinjaExpression read_joined() {
    return read_operations({"~"}, [&] { return read_product(); });
  }
  JinjaExpression read_product() {
    return read_operations({"*", "/", "//", "%"}, [&] { return read_signed(); });
  }
  JinjaExpression read_signed() {
    const Deeper deeper(*this);
    const int line = now().line;
    if (take_symbol("-")) return made(Syntax::negative, line, read_signed());
    if (take_symbol("+")) return read_signed();
    return read_postfixes(read_primary());
  }

  JinjaExpression read_primary() {
    const Deeper deeper(*this);
    const int line = now().line;
    const JinjaToken token = now();
    if (token.kind == TokenKind::string) {
      std::string text;
      for (; now().kind == TokenKind::string; advance()) text += now().text;
      return literal(std::move(text), line);
    }
    if (token.kind == TokenKind::number) {
      const std::optional<std::int64_t> value = as_number<std::int64_t>(token.text);
      if (!value) refuse(fmt::format("has {}", printable(token.text)));
      advance();
      return literal(*value, line);
    }
    if (token.kind == TokenKind::name) {
      advance();
      if (token.text == "true" || token.text == "True") return literal(true, line);
      if (token.text == "false" || token.text == "False") return literal(false, line);
      if (token.text == "none" || token.text == "None") return literal(nullptr, line);
      return {.kind = Syntax::name, .line = line, .name = token.text};
    }
    if (take_symbol("(")) {
      JinjaExpression inner = read_expression();
      if (is(TokenKind::symbol, ",")) refuse("has a tuple, which is not computed here");
      expect_symbol(")");
      return inner;
    }
    if (take_symbol("[")) {
      JinjaExpression list = made(Syntax::list, line);
      while (!take_symbol("]")) {
        list.parts.push_back(read_expression());
        if (!is(TokenKind::symbol, "]")) expect_symbol(",");
      }
      measure(list);
      return list;
    }
    if (is(TokenKind::symbol, "{")) refuse("has a mapping {...}, which is not computed here");
    refuse(fmt::format("has {} where a value is wanted", described()));
  }

  JinjaExpression read_postfixes(JinjaExpression value) {
    for (;;) {
      const int line = now().line;
      if (take_symbol(".")) {
        if (now().kind == TokenKind::number) {
          JinjaExpression index = read_primary();
          value = made(Syntax::item, line, std::move(value), std::move(index));
        } else {
          std::string name = expect_name();
          value = made_with_name(Syntax::attribute, line, std::move(name), std::move(value));
        }
      } else if (take_symbol("[")) {
        value = read_subscript(std::move(value), line);
      } else if (take_symbol("(")) {
        JinjaExpression call = made(Syntax::call, line, std::move(value));
        read_arguments(call);
        value = std::move(call);
      } else if (take_symbol("|")) {
        JinjaExpression filter =
            made_with_name(Syntax::filter, line, expect_name(), std::move(value));
        if (take_symbol("(")) read_arguments(filter);
        value = std::move(filter);
      } else if (take_word("is")) {
        value = read_test(std::move(value), line);
      } else {
        return value;
      }
    }
  }

  // After "is": a test, with an argument in brackets or without.
  JinjaExpression read_test(JinjaExpression value, int line) {
    const bool inverted = take_word("not");
    JinjaExpression test = made_with_name(Syntax::test, line, expect_name(), std::move(value));
    if (take_symbol("(")) {
      read_arguments(test);
    } else if (now().kind == TokenKind::string || now().kind == TokenKind::number) {
      test.parts.push_back(read_primary());
      measure(test);
    }
    return inverted ? made(Syntax::inverse, line, std::move(test)) : test;
  }

  // After "[".
  JinjaExpression read_subscript(JinjaExpression value, int line) {
    std::array<JinjaExpression, 3> bounds;
    std::size_t colons = 0;
    bool given = false;
    while (!is(TokenKind::symbol, "]")) {
      if (take_symbol(":")) {
        if (++colons == bounds.size()) refuse("has a slice with three colons");
        given = false;
        continue;
      }
      if (given) refuse(fmt::format("has {} where \"]\" is wanted", described()));
      bounds[colons] = read_expression();
      given = true;
    }
    if (colons == 0 && !given) refuse("has an empty subscript");
    advance();
    if (colons == 0) return made(Syntax::item, line, std::move(value), std::move(bounds[0]));
    return made(Syntax::slice, line, std::move(value), std::move(bounds[0]), std::move(bounds[1]),
                std::move(bounds[2]));
  }

  // After "(", up to its end.
  void read_arguments(JinjaExpression& call) {
    while (!take_symbol(")")) {
      const bool named = now().kind == TokenKind::name && ahead(1).kind == TokenKind::symbol &&
                         ahead(1).text == "=";
      if (named) {
        std::string name = expect_name();
        advance();
        call.named.emplace_back(std::move(name), read_expression());
      } else {
        call.parts.push_back(read_expression());
      }
      if (!is(TokenKind::symbol, ")")) expect_symbol(",");
    }
    measure(call);
  }
};

}  // namespace

std::vector<JinjaNode> parse_jinja(std::string_view source, const std::string& location) {
  return JinjaParser(source, location).read();
}

}  // namespace roformer
