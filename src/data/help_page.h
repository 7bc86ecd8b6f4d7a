// A page of HTML with the attributes of its tags left out, but for one of them. libxml2 compares
// each attribute of a tag with all before it, so that 100,000 in one tag, a file of a megabyte,
// take it minutes; and nothing here depends on any other attribute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// Keeps the first value of `attribute` in each tag. All tags, text and references stay; scripts and
// styles lose their contents and comments their words. What it takes for a tag is all that a
// parser finds in the result: every other < becomes a reference. Any bytes are accepted.
std::string with_one_attribute(std::string_view html, std::string_view attribute);

// The paragraphs of one page of LibreOffice's help: an HTML file whose paragraphs and headings
// carry ids ("par_id…", "hd_id…") that are the same in every language.

struct HelpParagraph {
  std::string id;
  std::string text;  // UTF-8, entities decoded, runs of white space made one space
};

// In the order of the page; paragraphs without text are left out. Any bytes are accepted, as a
// browser does: markup that is no help page yields no paragraphs.
std::vector<HelpParagraph> parse_help_page(std::string_view html);

}  // namespace roformer
