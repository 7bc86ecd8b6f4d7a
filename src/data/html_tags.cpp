#include "data/html_tags.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace roformer {
namespace {

bool is_html_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == ':' || c == '-' || c == '_' || c == '.';
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

class Reduction {
 public:
  Reduction(std::string_view html, std::string_view attribute)
      : rest_(html), attribute_(attribute) {}

  std::string result() {
    while (!rest_.empty()) {
      result_ += take(rest_.find('<'));
      if (!rest_.empty()) take_markup();
    }
    return std::move(result_);
  }

 private:
  std::string_view rest_;
  std::string_view attribute_;
  std::string result_;

  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  // All before the end; the end goes, too.
  std::string_view take_to(std::string_view end) {
    const std::string_view taken = take(rest_.find(end));
    take(end.size());
    return taken;
  }
  template <class Test>
  std::string_view take_while(Test test) {
    return take(static_cast<std::size_t>(std::ranges::find_if_not(rest_, test) - rest_.begin()));
  }

  void take_markup() {
    const char next = rest_.size() > 1 ? rest_[1] : '\0';
    if (rest_.starts_with("<!--")) {
      take_to("-->");
      result_ += "<!-- -->";
    } else if (next == '!' || next == '?') {
      // Of a type of document; anything else says nothing.
      const std::string_view declaration = take_to(">");
      const bool is_type = in_small_letters(declaration.substr(0, 9)) == "<!doctype";
      if (is_type && declaration.find('<', 1) == std::string_view::npos) {
        result_.append(declaration) += '>';
      }
    } else if (next == '/') {
      take(2);
      const std::string_view name = take_while(is_name_character);
      take_to(">");
      if (!name.empty() && is_letter(name.front())) result_.append("</").append(name) += '>';
    } else if (is_letter(next)) {
      take(1);
      take_tag();
    } else {
      take(1);
      result_ += "&lt;";
    }
  }

  void take_tag() {
    const std::string_view name = take_while(is_name_character);
    std::string tag = '<' + std::string(name);
    bool kept = false;
    bool closed = false;  // by />
    while (!rest_.empty() && rest_.front() != '>') {
      closed = rest_.front() == '/';
      if (closed || is_html_space(rest_.front())) {
        take(1);
      } else {
        take_attribute(tag, kept);
      }
    }
    if (rest_.empty()) return;  // cut
    take(1);
    result_ += tag + (closed ? "/>" : ">");
    const std::string small = in_small_letters(name);
    if (closed || (small != "script" && small != "style")) return;
    while (!rest_.empty()) {
      take(rest_.find("</"));
      if (rest_.empty()) break;
      if (in_small_letters(rest_.substr(2, small.size())) == small) break;
      take(2);
    }
  }

  void take_attribute(std::string& tag, bool& kept) {
    // A sign that begins no name and no value is one itself, so that it always goes on.
    const auto is_of_name = [](char c) {
      return !is_html_space(c) && c != '>' && c != '/' && c != '=';
    };
    const char first = take(1).front();
    const std::string name = in_small_letters(first + std::string(take_while(is_of_name)));
    take_while(is_html_space);
    if (!rest_.starts_with('=')) return;
    take(1);
    take_while(is_html_space);
    const char quote = rest_.empty() ? '\0' : rest_.front();
    std::string value;
    if (quote == '"' || quote == '\'') {
      take(1);
      value = take_to(std::string_view(&quote, 1));
    } else {
      value = take_while([](char c) { return !is_html_space(c) && c != '>'; });
    }
    if (kept || name != attribute_) return;
    kept = true;
    tag.append(" ").append(attribute_) += "=\"";
    for (const char c : value) tag += c == '"' ? std::string("&quot;") : std::string(1, c);
    tag += '"';
  }
};

}  // namespace

std::string with_one_attribute(std::string_view html, std::string_view attribute) {
  return Reduction(html, attribute).result();
}

}  // namespace roformer
