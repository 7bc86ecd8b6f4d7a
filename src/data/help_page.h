// A page of HTML with only one attribute kept in its tags. libxml2 compares each attribute of a tag
// with all earlier ones, so a tag with 100,000 attributes (one megabyte) takes minutes. The reader
// of help pages needs no other attribute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// Keeps only the first value of `attribute` in each tag. All tags, text and references stay;
// scripts and styles lose their contents, and comments lose their words. A parser finds exactly the
// tags in the result that this function recognises, because every other < becomes a reference.
// Accepts any bytes.
std::string with_one_attribute(std::string_view html, std::string_view attribute);

// The paragraphs of one page of LibreOffice's help: an HTML file whose paragraphs and headings
// carry ids ("par_id…", "hd_id…") that are the same in every language.
struct HelpParagraph {
  std::string id;
  std::string text;  // UTF-8, entities decoded, runs of white space made one space
};

// The paragraphs in the order of the page, without empty ones. Accepts any bytes, as a browser
// does: a page of other markup has no paragraphs.
std::vector<HelpParagraph> parse_help_page(std::string_view html);

}  // namespace roformer
