// Parses the text of a formula into a tree: splits it into words, then descends recursively by
// precedence.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/printable.h"
#include "config/formula/operators.h"
#include "config/suggest.h"

namespace roformer {
namespace {

using Op = FormulaOperation;

struct FormulaToken {
  enum class Kind { number, name, sign, end };
  Kind kind = Kind::end;
  std::string text;
  double number = 0;
  std::size_t column = 0;  // from 0
};

constexpr std::array<std::string_view, 19> kSigns{"<=", ">=", "==", "!=", "**", "<", ">",
                                                  "+",  "-",  "*",  "/",  "%",  "^", "(",
                                                  ")",  "[",  "]",  ",",  "="};

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

FormulaToken number_at(std::string_view text, std::size_t at) {
  FormulaToken token{.kind = FormulaToken::Kind::number, .column = at};
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), token.number);
  if (error != std::errc() || !std::isfinite(token.number)) {
    throw FormulaError(at, "a number that cannot be read");
  }
  token.text = std::string(begin, end);
  return token;
}

FormulaToken name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (begins_name(text[end]) || is_digit(text[end]))) ++end;
  return {.kind = FormulaToken::Kind::name,
          .text = std::string(text.substr(at, end - at)),
          .column = at};
}

FormulaToken sign_at(std::string_view text, std::size_t at) {
  for (const std::string_view sign : kSigns) {
    if (!text.substr(at).starts_with(sign)) continue;
    if (sign == "=") throw FormulaError(at, "an assignment", "== compares");
    return {.kind = FormulaToken::Kind::sign,
            .text = sign == "**" ? "^" : std::string(sign),
            .column = at};
  }
  throw FormulaError(at, "a sign that no formula has",
                     "numbers, names, + - * / % ^ ( ) [ ] , and comparisons");
}

// The length of the token in the text (`**` is one sign of two characters).
std::size_t length_in(std::string_view text, const FormulaToken& token) {
  return text.substr(token.column).starts_with("**") ? 2 : token.text.size();
}

// The last token marks the end. Throws FormulaError for a sign or a number that cannot be read.
std::vector<FormulaToken> formula_tokens(std::string_view text) {
  std::vector<FormulaToken> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
      continue;
    }
    const bool numeric =
        is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]));
    tokens.push_back(numeric          ? number_at(text, at)
                     : begins_name(c) ? name_at(text, at)
                                      : sign_at(text, at));
    at += length_in(text, tokens.back());
  }
  tokens.push_back({.kind = FormulaToken::Kind::end, .column = text.size()});
  return tokens;
}

constexpr int kDeepest = 100;            // nesting of parentheses and signs
constexpr std::size_t kLongest = 10000;  // characters

constexpr std::array<std::string_view, 13> kWords{"i",     "j",      "h",     "layer", "length",
                                                  "heads", "layers", "score", "index", "size",
                                                  "and",   "or",     "not"};

class Parser {
 public:
  Parser(std::string_view text, const FormulaNames& names)
      : names_(names), tokens_(formula_tokens(text)) {}

  FormulaNode whole() {
    if (next().kind == FormulaToken::Kind::end) throw FormulaError(0, "an empty formula");
    FormulaNode node = whole_part();
    if (next().kind != FormulaToken::Kind::end) {
      throw FormulaError(next().column, "`" + next().text + "` after the end of the formula",
                         "an operator before it, or a parenthesis too many");
    }
    return node;
  }

 private:
  const FormulaNames& names_;
  std::vector<FormulaToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<std::string> sums_;  // variables of the enclosing sums

  const FormulaToken& next() const { return tokens_[at_]; }
  bool is(std::string_view text) const {
    return next().kind != FormulaToken::Kind::number && next().text == text &&
           next().kind != FormulaToken::Kind::end;
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  std::string shown_next() const {
    return next().kind == FormulaToken::Kind::end ? "the end" : "`" + next().text + "`";
  }
  void expect(std::string_view text) {
    if (take(text)) return;
    throw FormulaError(next().column,
                       shown_next() + " where `" + std::string(text) + "` is wanted");
  }

  static FormulaNode made(Op operation, std::size_t column, std::vector<FormulaNode> arguments) {
    FormulaNode node{.operation = operation, .arguments = std::move(arguments), .column = column};
    type_formula(node);
    return node;
  }

  // Parses operators of this level from left to right; their arguments bind more tightly.
  FormulaNode chain(FormulaLevel level) {
    if (level == FormulaLevel::negation) return negation();
    if (level == FormulaLevel::sign) return signed_value();
    const auto inner = [&] {
      return chain(static_cast<FormulaLevel>(static_cast<int>(level) + 1));
    };
    FormulaNode left = inner();
    for (;;) {
      const auto* const found = std::ranges::find_if(
          kFormulaSyntax,
          [&](const FormulaSyntax& known) { return known.level == level && is(known.text); });
      if (found == kFormulaSyntax.end()) return left;
      ++at_;
      const std::size_t column = left.column;
      std::vector<FormulaNode> both;
      both.push_back(std::move(left));
      both.push_back(inner());
      left = made(found->operation, column, std::move(both));
    }
  }

  // Parses a whole formula, the contents of parentheses, or an argument.
  FormulaNode whole_part() {
    if (++depth_ > kDeepest) throw FormulaError(next().column, "too deep a nesting");
    FormulaNode node = chain(FormulaLevel::either);
    --depth_;
    return node;
  }

  FormulaNode negation() {
    const std::size_t column = next().column;
    if (!take("not")) return chain(FormulaLevel::comparison);
    if (++depth_ > kDeepest) throw FormulaError(column, "too deep a nesting");
    std::vector<FormulaNode> inner;
    inner.push_back(negation());
    --depth_;
    return made(Op::logical_not, column, std::move(inner));
  }

  FormulaNode signed_value() {
    const std::size_t column = next().column;
    if (!is("-") && !is("+")) return power();
    if (++depth_ > kDeepest) throw FormulaError(column, "too deep a nesting");
    const bool negative = take("-");
    if (!negative) expect("+");
    std::vector<FormulaNode> inner;
    inner.push_back(signed_value());
    --depth_;
    if (!negative) return std::move(inner[0]);
    return made(Op::negate, column, std::move(inner));
  }

  FormulaNode power() {
    FormulaNode base = value();
    if (!take("^")) return base;
    const std::size_t column = base.column;
    std::vector<FormulaNode> both;
    both.push_back(std::move(base));
    both.push_back(signed_value());
    return made(Op::power, column, std::move(both));
  }

  FormulaNode value() {
    const FormulaToken token = next();
    if (take("(")) {
      FormulaNode inner = whole_part();
      expect(")");
      return inner;
    }
    if (token.kind == FormulaToken::Kind::number) {
      ++at_;
      const bool whole = token.text.find_first_not_of("0123456789") == std::string::npos;
      return {.number = token.number,
              .type = whole ? FormulaType::integer : FormulaType::number,
              .column = token.column};
    }
    const bool name = token.kind == FormulaToken::Kind::name && token.text != "and" &&
                      token.text != "or" && token.text != "not";
    if (!name) {
      throw FormulaError(token.column, shown_next() + " where a number, a name or ( is wanted");
    }
    ++at_;
    if (is("(")) return call(token);
    return named(token);
  }

  FormulaNode call(const FormulaToken& token) {
    const FormulaSyntax* const function = find_formula_function(token.text);
    if (function == nullptr) {
      const std::string near = suggestion(token.text, formula_function_names());
      throw FormulaError(
          token.column, "no function is called " + token.text,
          near.empty() ? fmt::format("{}", fmt::join(formula_function_names(), ", ")) : near);
    }
    expect("(");
    if (function->operation == Op::sum) return sum(token);
    std::vector<FormulaNode> arguments = list(")");
    if (arguments.size() != function->arguments) {
      throw FormulaError(token.column, token.text + " takes " +
                                           std::to_string(function->arguments) +
                                           " arguments, got " + std::to_string(arguments.size()));
    }
    return made(function->operation, token.column, std::move(arguments));
  }

  // Parses the arguments and consumes the closing sign.
  std::vector<FormulaNode> list(std::string_view closing) {
    std::vector<FormulaNode> arguments;
    if (take(closing)) return arguments;
    do {
      arguments.push_back(whole_part());
    } while (take(","));
    expect(closing);
    return arguments;
  }

  // Parses sum(t, first, last, term) after its opening parenthesis.
  FormulaNode sum(const FormulaToken& token) {
    const FormulaToken variable = next();
    if (variable.kind != FormulaToken::Kind::name) {
      throw FormulaError(variable.column, shown_next() + " where the sum's variable is wanted",
                         "sum(t, 0, 15, cos((i - j) / 10000^(t / 16)))");
    }
    const auto parameter = std::ranges::find_if(
        names_.parameters,
        [&](const FormulaParameterName& known) { return known.name == variable.text; });
    if (is_formula_word(variable.text) || parameter != names_.parameters.end() ||
        std::ranges::find(sums_, variable.text) != sums_.end()) {
      throw FormulaError(variable.column,
                         "the sum's variable " + variable.text + " is the name of something else",
                         "another name");
    }
    ++at_;
    expect(",");
    std::vector<FormulaNode> parts;
    parts.push_back(bound());
    expect(",");
    parts.push_back(bound());
    expect(",");
    sums_.push_back(variable.text);
    parts.push_back(whole_part());
    sums_.pop_back();
    expect(")");
    FormulaNode node = made(Op::sum, token.column, std::move(parts));
    node.name = variable.text;
    std::erase(node.uses.bound, variable.text);
    return node;
  }

  // Parses the first or last value of a sum's variable.
  FormulaNode bound() {
    FormulaNode node = whole_part();
    const FormulaUses& uses = node.uses;
    if (node.type != FormulaType::integer || uses.pairs() || uses.head || uses.score ||
        uses.trained) {
      throw FormulaError(
          node.column,
          "a sum's bounds are integers made only of numbers, layer, heads, layers and length",
          "floor(...) makes an integer");
    }
    return node;
  }

  FormulaNode named(const FormulaToken& token) {
    const std::string& name = token.text;
    const auto parameter = std::ranges::find_if(
        names_.parameters, [&](const FormulaParameterName& known) { return known.name == name; });
    if (parameter != names_.parameters.end()) return parameter_node(token, *parameter);
    const bool summed = std::ranges::find(sums_, name) != sums_.end();
    const bool known = std::ranges::find(names_.variables, name) != names_.variables.end();
    if (!summed && !known) throw unknown(token);
    if (is("[")) throw FormulaError(next().column, name + " is a number and takes no index");
    FormulaNode node{.operation = Op::variable,
                     .name = name,
                     .type = name == "score" ? FormulaType::number : FormulaType::integer,
                     .column = token.column};
    FormulaUses& uses = node.uses;
    if (summed) uses.bound = {name};
    uses.query = name == "i";
    uses.key = name == "j";
    uses.head = name == "h";
    uses.layer = name == "layer";
    uses.length = name == "length";
    uses.score = name == "score";
    uses.linear = !uses.score;
    uses.query_factor = uses.query;
    uses.key_factor = uses.key;
    uses.by_distance = !uses.pairs();
    return node;
  }

  FormulaError unknown(const FormulaToken& token) const {
    std::vector<std::string> names = names_.variables;
    for (const FormulaParameterName& known : names_.parameters) names.push_back(known.name);
    const std::string near = suggestion(token.text, names);
    return FormulaError(token.column, "nothing here is called " + token.text,
                        near.empty() ? fmt::format("there are {}", fmt::join(names, ", ")) : near);
  }

  // Parses slope, slope[h], slope[layer, h], table[i - j] or table[h, i - j].
  FormulaNode parameter_node(const FormulaToken& token, const FormulaParameterName& known) {
    FormulaNode node{.operation = Op::parameter,
                     .name = known.name,
                     .parameter = static_cast<std::size_t>(&known - names_.parameters.data()),
                     .column = token.column};
    std::vector<FormulaNode> indices;
    if (take("[")) indices = list("]");
    if (known.table) {
      if (indices.empty()) {
        throw FormulaError(token.column, "the table " + known.name + " without an index",
                           known.name + "[floor(...)]");
      }
      node.arguments.push_back(std::move(indices.back()));
      indices.pop_back();
      index(node.arguments[0], known);
    }
    for (const FormulaNode& index : indices) {
      const bool of_head = index.operation == Op::variable && index.name == "h" && known.of_head;
      const bool of_layer =
          index.operation == Op::variable && index.name == "layer" && known.of_layer;
      if (of_head || of_layer) continue;
      throw FormulaError(index.column, known.name + " has no such index",
                         "its `per` says what it has one number for: h, layer or both");
    }
    type_formula(node);
    node.type = FormulaType::number;
    node.uses.head |= known.of_head;
    node.uses.layer |= known.of_layer;
    node.uses.trained |= known.trained;
    node.uses.linear = !node.uses.pairs();
    return node;
  }

  static void index(const FormulaNode& node, const FormulaParameterName& known) {
    if (node.type != FormulaType::integer) {
      throw FormulaError(node.column,
                         "the index of the table " + known.name + " is no integer expression",
                         "floor(...) makes an integer");
    }
    if (node.uses.constant()) return;
    throw FormulaError(node.column,
                       "the index of the table " + known.name + " depends on " +
                           (node.uses.score ? "the score" : "a trained parameter"),
                       "an index is made of positions, h, layer and numbers");
  }
};

}  // namespace

std::string FormulaError::shown(std::string_view text) const {
  std::string message = "column " + std::to_string(column + 1) + ": " + what();
  if (!hint.empty()) message += " (hint: " + hint + ")";
  // A message about a long formula shows only the part around the error.
  constexpr std::size_t kBefore = 50, kBehind = 20;
  const auto begins_character = [&](std::size_t at) {
    return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
  };
  const std::size_t place = std::min(column, text.size());
  std::size_t first = place > kBefore ? place - kBefore : 0;
  std::size_t end = std::min(place + kBehind, text.size());
  while (!begins_character(first)) ++first;
  while (!begins_character(end)) ++end;
  std::string line = (first > 0 ? "… " : "") + std::string(text.substr(first, end - first)) +
                     (end < text.size() ? " …" : "");
  line = clean_line(line);
  // The caret's position counts characters, which may take several bytes.
  std::size_t columns = first > 0 ? 2 : 0;
  for (std::size_t i = first; i < place; ++i) columns += begins_character(i);
  return message + "\n    " + line + "\n    " + std::string(columns, ' ') + "^";
}

bool is_formula_word(std::string_view name) {
  return std::ranges::find(kWords, name) != kWords.end() || find_formula_function(name) != nullptr;
}

FormulaNode parse_formula(std::string_view text, const FormulaNames& names) {
  if (text.size() > kLongest) {
    throw FormulaError(kLongest, "a formula of more than 10,000 characters");
  }
  return Parser(text, names).whole();
}

}  // namespace roformer
