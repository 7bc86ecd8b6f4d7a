#include "metrics/bleu_tokenizers.h"
#include "text/utf8.h"

namespace roformer {

std::string tokenize_characters(std::string_view line) {
  std::string text;
  text.reserve(2 * line.size());
  for (std::size_t position = 0; position < line.size();) {
    const std::size_t start = position;
    next_code_point(line, position);
    text.append(line.substr(start, position - start)) += ' ';
  }
  return text;
}

}  // namespace roformer
