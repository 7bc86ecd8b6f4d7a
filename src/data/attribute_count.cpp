#include "data/attribute_count.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace roformer {

void AttributeCount::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (place_ == Place::text) {
      const std::size_t next = std::min(bytes.find('<'), bytes.size());
      line_ += std::ranges::count(bytes.substr(0, next), '\n');
      bytes.remove_prefix(next);
      if (bytes.empty()) return;
    }
    if (bytes.front() == '\n') ++line_;
    take(bytes.front());
    bytes.remove_prefix(1);
  }
}

void AttributeCount::skip_to(const char* end) {
  place_ = Place::skipped;
  end_ = end;
  matched_.clear();
}

// Words of declarations are as many as the spaces before them, at most.
void AttributeCount::count_word(char c) {
  if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
  if (++declared_ <= kMostDeclared) return;
  throw_failure(fmt::format("{}:{}", file_, line_),
                fmt::format("has more than {} words in declarations (<!...>)", kMostDeclared),
                "leave them out: nothing is read of them");
}

void AttributeCount::take_of_declaration(char c) {
  if (!matched_.empty() || c == '-' || c == '[') {
    matched_ += c;
    if (matched_ == "--") return skip_to("-->");
    if (matched_ == "[CDATA[") return skip_to("]]>");
    if (matched_ == "-" || std::string_view("[CDATA[").starts_with(matched_)) return;
    matched_.clear();
  }
  count_word(c);
  if (c == '"' || c == '\'') {
    quote_ = c;
    place_ = Place::declared_text;
  } else if (c == '<') {  // a declaration inside of one
    place_ = Place::open;
  } else if (c == '>') {
    place_ = Place::text;
  }
}

void AttributeCount::take(char c) {
  switch (place_) {
    case Place::text:
      place_ = Place::open;
      return;
    case Place::open:
      matched_.clear();
      count_ = 0;
      if (c == '?') return skip_to("?>");
      place_ = c == '!' ? Place::declaration : Place::tag;
      return;
    case Place::declaration:
      return take_of_declaration(c);
    case Place::declared_text:
      count_word(c);
      if (c == quote_) place_ = Place::declaration;
      return;
    case Place::skipped:
      matched_ += c;
      while (!std::string_view(end_).starts_with(matched_)) matched_.erase(0, 1);
      if (matched_ == end_) place_ = Place::text;
      return;
    case Place::tag:
      if (c == '>') place_ = Place::text;
      if (c != '"' && c != '\'') return;
      // Each attribute has a value in quotes.
      quote_ = c;
      place_ = Place::quoted;
      if (++count_ <= kMost) return;
      throw_failure(fmt::format("{}:{}", file_, line_),
                    fmt::format("has a tag with more than {} attributes", kMost),
                    "no translation memory has: is it one?");
    case Place::quoted:
      if (c == quote_) place_ = Place::tag;
      return;
  }
}

}  // namespace roformer
