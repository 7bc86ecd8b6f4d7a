// Whether text is well-formed XML, as far as this program writes any: tags that match, attributes
// in double quotes, no bare ampersand, one root.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace roformer {

// Empty when well-formed, otherwise what is wrong.
inline std::string xml_problem(const std::string& text) {
  static const std::regex tag(R"re(^<(/?)([a-z]+)((?:\s+[a-zA-Z0-9-]+="[^"<]*")*)\s*(/?)>)re");
  static const std::regex reference("^&(amp|lt|gt|quot);");
  std::vector<std::string> open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::smatch match;
    if (text[i] == '&') {
      const std::string rest = text.substr(i, 40);
      if (!std::regex_search(rest, reference)) return "bare &: " + rest;
    }
    if (static_cast<unsigned char>(text[i]) < 0x20 && text[i] != '\n') return "control character";
    if (text[i] != '<') continue;
    const std::size_t end = text.find('>', i);
    const std::string element = text.substr(i, end == std::string::npos ? end : end - i + 1);
    if (element.size() > 4000) {  // std::regex recurses over long attributes
      if (element.find('<', 1) != std::string::npos) return "< inside a tag";
      if (element.ends_with("/>")) {
        i = end;
        continue;
      }
      return "a long tag that is not empty: " + element.substr(0, 40);
    }
    if (!std::regex_search(element, match, tag)) return "no tag: " + element.substr(0, 60);
    if (match[1] == "/") {
      if (open.empty() || open.back() != match[2]) return "</" + match[2].str() + "> unmatched";
      open.pop_back();
      if (open.empty() && text.find_first_not_of('\n', end + 1) != std::string::npos) return "tail";
    } else if (match[4] != "/") {
      open.push_back(match[2]);
    }
    i = end;
  }
  return open.empty() ? "" : "<" + open.back() + "> is open at the end";
}

}  // namespace roformer
