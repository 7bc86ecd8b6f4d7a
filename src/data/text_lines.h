// Texts to classify, from a file or a stream: one a line, or a pair a line with a tab between
// (TSV), or JSON objects (JSON lines). A TSV may begin with a line of column names: sentence, or
// sentence1 and sentence2, among any others.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

struct TextLine {
  std::string first;
  std::string second;  // of pairs
};

enum class TextFormat {
  automatic,  // JSON lines where the first line begins with {
  tsv,
  jsonl,  // {"sentence": ...}, or {"sentence1": ..., "sentence2": ...}
};

// "auto", "tsv" or "jsonl".
TextFormat text_format(std::string_view word);

struct TextLineOptions {
  std::string location;  // of the stream, in messages: the file's name
  bool pairs = false;
  TextFormat format = TextFormat::automatic;
};

// Hands on up to `chunk` lines at a time, in their order. Throws Error (failure) naming
// location:line for a wrong number of columns, an object without its texts, and an empty text.
void read_text_lines(std::istream& stream, const TextLineOptions& options, std::size_t chunk,
                     const std::function<void(const std::vector<TextLine>&)>& take);

}  // namespace roformer
