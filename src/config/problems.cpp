#include "config/problems.h"

#include <utility>

#include <algorithm>

#include "base/error.h"

namespace roformer {

std::string Problem::line() const {
  std::string text;
  if (!where.empty()) text += where + ": ";
  if (!key.empty() && !where.starts_with("--")) text += key + ": ";
  text += message;
  if (!hint.empty()) text += " (hint: " + hint + ")";
  return text;
}

void Problems::add(const Problem& problem) {
  add_line(problem.line());
}

void Problems::add(SourceLocation where, std::string key, std::string message, std::string hint) {
  add({.where = std::move(where),
       .key = std::move(key),
       .message = std::move(message),
       .hint = std::move(hint)});
}

void Problems::add_all(const Problems& others) {
  for (const std::string& line : others.lines_) add_line(line);
}

void Problems::add_line(const std::string& line) {
  if (std::ranges::find(lines_, line) == lines_.end()) lines_.push_back(line);
}

void Problems::throw_if_any() const {
  if (lines_.empty()) return;
  std::string text;
  for (const std::string& line : lines_) text += (text.empty() ? "" : "\n") + line;
  throw Error({.kind = ErrorKind::usage, .message = text});
}

}  // namespace roformer
