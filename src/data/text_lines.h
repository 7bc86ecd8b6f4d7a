// Lines of files that have tabs between their columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_reader.h"

namespace roformer {

// One at least; they are parts of the line.
std::vector<std::string_view> tab_columns(std::string_view line);

// The index of the column with this name. Throws Error (failure) where two have it; `location` is
// that of the line of names.
std::optional<std::size_t> column_named(const std::vector<std::string_view>& names,
                                        std::string_view name, const std::string& location);

// Texts to classify, from a file or standard input: one a line, or a pair a line with a tab between
// (TSV), or JSON objects (JSON lines). A TSV may begin with a line of column names, among them
// those of the task's own files, or sentence, or sentence1 and sentence2.

struct TextLine {
  std::string first;
  std::string second;  // of pairs
  // False for a blank line before others, and for one that is left out: each is answered by an
  // empty line, so that a line in stays a line out.
  bool has_text = true;
};

enum class TextFormat {
  automatic,  // JSON lines where the first line begins with {, or by the file's name
  tsv,
  jsonl,  // {"sentence": ...}, or {"sentence1": ..., "sentence2": ...}
};

// "auto", "tsv" or "jsonl".
TextFormat text_format(std::string_view word);

// What `automatic` is for a file whose first line with text is this one.
TextFormat format_of(TextFormat given, const std::string& file, std::string_view first_line);

struct TextLineOptions {
  bool pairs = false;
  std::string first, second;  // the names that the task's own files have for them; empty: none
  TextFormat format = TextFormat::automatic;
  bool skip_broken = false;  // leaves out lines of JSON Lines that are no objects
};

// Hands on up to `chunk` lines at a time, in their order, without the blank ones at the end. Throws
// Error (failure) naming FILE:LINE for a wrong number of columns, an object without its texts, and
// an empty text. Adds to the reader's count what it replaced in JSON lines.
void read_text_lines(LineReader& reader, const TextLineOptions& options, std::size_t chunk,
                     const std::function<void(const std::vector<TextLine>&)>& take);

}  // namespace roformer
