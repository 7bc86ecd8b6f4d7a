#include "data/help_page.h"

#include <libxml/HTMLparser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <memory>
#include <utility>

#include "base/error.h"
#include "text/utf8.h"

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
  // Skips everything up to and including the end.
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
      // Only the document type matters.
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
    // Reads at least one character of any kind, so that the loop always ends.
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

std::string_view view(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool is_paragraph(const xmlNode& node) {
  const std::string_view name = view(node.name);
  return name == "p" || (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6');
}

std::string paragraph_id(const xmlNode& node) {
  for (const xmlAttr* attribute = node.properties; attribute != nullptr;
       attribute = attribute->next) {
    if (view(attribute->name) != "id" || attribute->children == nullptr) continue;
    const std::string_view id = view(attribute->children->content);
    if (id.starts_with("par_id") || id.starts_with("hd_id")) return std::string(id);
  }
  return {};
}

// Turns HTML white space and the no-break space into one space between words, and removes it at the
// ends.
void append_collapsed(std::string_view text, std::string& out, bool& space_pending) {
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char c = text[index];
    const bool no_break = text.substr(index).starts_with("\xc2\xa0");
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || no_break) {
      space_pending = true;
      if (no_break) ++index;
      continue;
    }
    if (space_pending && !out.empty()) out += ' ';
    space_pending = false;
    out += c;
  }
}

void append_text(const xmlNode* node, std::string& out, bool& space_pending) {
  for (; node != nullptr; node = node->next) {
    if (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) {
      append_collapsed(view(node->content), out, space_pending);
    } else if (node->type == XML_ELEMENT_NODE) {
      if (view(node->name) == "br") space_pending = true;
      append_text(node->children, out, space_pending);
    }
  }
}

// The parser passes on bytes that it cannot read.
std::string repaired(std::string text) {
  std::string storage;
  std::uint64_t replaced = 0;
  const std::string_view valid = repair_utf8(text, storage, replaced);
  return valid.data() == text.data() ? text : storage;
}

// The parser limits the depth of a tree to 256, so the recursion is bounded.
void collect(const xmlNode* node, std::vector<HelpParagraph>& paragraphs) {
  for (; node != nullptr; node = node->next) {
    if (node->type != XML_ELEMENT_NODE) continue;
    std::string id = is_paragraph(*node) ? paragraph_id(*node) : std::string();
    if (id.empty()) {
      collect(node->children, paragraphs);
      continue;
    }
    std::string text;
    bool space_pending = false;
    append_text(node->children, text, space_pending);
    if (!text.empty())
      paragraphs.push_back({.id = repaired(std::move(id)), .text = repaired(std::move(text))});
  }
}

}  // namespace

std::string with_one_attribute(std::string_view html, std::string_view attribute) {
  return Reduction(html, attribute).result();
}

std::vector<HelpParagraph> parse_help_page(std::string_view html) {
  std::vector<HelpParagraph> paragraphs;
  if (html.empty()) return paragraphs;
  const std::string page = with_one_attribute(html, "id");
  if (page.empty()) return paragraphs;
  ROFORMER_ASSERT(page.size() <= INT_MAX);
  const std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)> document(
      htmlReadMemory(
          page.data(), static_cast<int>(page.size()), nullptr, "UTF-8",
          HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET),
      &xmlFreeDoc);
  if (document != nullptr) collect(xmlDocGetRootElement(document.get()), paragraphs);
  return paragraphs;
}

}  // namespace roformer
