// The tokens of a template in Jinja, the language of Hugging Face's chat templates: text, and what
// is between {{ and }} or {% and %}. White space around tags goes as transformers has it
// (trim_blocks and lstrip_blocks are on).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

struct JinjaToken {
  enum class Kind : std::uint8_t {
    text,             // between tags
    begin_output,     // {{
    end_output,       // }}
    begin_statement,  // {%
    end_statement,    // %}
    name,
    string,  // what the literal says
    number,  // digits
    symbol,  // "==", "(", ...
    end
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 1;
};

// Throws Error (failure, `location`:line) for a tag without its end, and for a character that no
// expression has.
std::vector<JinjaToken> jinja_tokens(std::string_view source, const std::string& location);

}  // namespace roformer
