// The paragraphs of one page of LibreOffice's help: an HTML file whose paragraphs and headings
// carry ids ("par_id…", "hd_id…") that are the same in every language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

struct HelpParagraph {
  std::string id;
  std::string text;  // UTF-8, entities decoded, runs of white space made one space
};

// In the order of the page; paragraphs without text are left out. Any bytes are accepted, as a
// browser does: markup that is no help page yields no paragraphs.
std::vector<HelpParagraph> parse_help_page(std::string_view html);

}  // namespace roformer
