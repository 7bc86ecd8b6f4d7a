#include "data/help_page.h"

#include <libxml/HTMLparser.h>
#include <libxml/tree.h>

#include <climits>
#include <memory>
#include <utility>

#include "base/error.h"
#include "data/html_tags.h"
#include "text/utf8.h"

namespace roformer {
namespace {

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

// White space of HTML and the no-break space become one space between words, none at the ends.
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
