// The reader of tabular lines: CSV and TSV with or without a line of column names, and JSON Lines.
// Pairs, triplets, texts to classify and GLUE's files are read through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/json_line_parser.h"
#include "data/line_reader.h"

namespace roformer {

using Cells = std::vector<std::string_view>;  // of one line; they point into it

// The cells between the tabs, at least one.
Cells tab_columns(std::string_view line);
// Throws Error (failure) if the line has another number of cells.
void require_columns(const Cells& cells, std::size_t wanted, const std::string& location,
                     const std::string& hint);
// The index of the column with this name. Throws Error (failure) if two columns have it; `location`
// names the line of column names.
std::optional<std::size_t> column_named(const Cells& names, std::string_view name,
                                        const std::string& location);

enum class TextFormat {
  automatic,  // JSON Lines where the first line begins with {, or by the file's name
  tsv,
  jsonl,
  csv,  // RFC 4180: commas, and quotation marks around cells with commas, line ends or "" in them
};

// "auto", "tsv", "jsonl" or "csv".
TextFormat text_format(std::string_view word);

// The cells of one CSV record, which may have several lines.
class CsvRecord {
 public:
  // Begins a record, or continues one whose last cell is open. Returns "" or the problem.
  std::string add(std::string_view line);
  bool is_open() const { return quoted_; }  // a quotation mark is not closed: another line follows
  const std::vector<std::string>& cells() const { return cells_; }

 private:
  std::vector<std::string> cells_;
  bool quoted_ = false;
};

// Reads one line after the other as cells or as a JSON object, and skips blank lines. A CSV record
// counts as one line.
class RecordReader {
 public:
  struct Options {
    TextFormat format = TextFormat::automatic;
    bool finds_csv = false;  // automatic: CSV by the file's name or the first line's commas
    // If not empty: commas make the first line CSV only if one of its cells is such a name.
    std::vector<std::string> csv_names;
    std::string hint;             // the contents of a line, for errors
    std::string hint_for_broken;  // for lines that are no JSON objects
    bool skip_broken = false;     // leaves these out
  };
  RecordReader(LineReader& lines, Options options);

  // Goes to the next line that is not blank. Returns false at the end of the file, after logging
  // how many lines were left out. Throws Error (failure) for a line that is no JSON object or
  // longer than `lines` allows.
  bool next();
  TextFormat format() const { return options_.format; }  // found when the first line was read
  bool is_json() const { return options_.format == TextFormat::jsonl; }
  bool is_empty() const { return !begun_; }  // no line with text so far
  std::int64_t blank_before() const { return blank_; }
  // Whether skip_broken leaves this line out.
  bool is_left_out() const { return is_json() && !object_; }

  // For TSV and CSV: the unchanged cells, and the cells as valid UTF-8 (malformed sequences are
  // counted).
  Cells raw_cells() const;
  Cells cells();
  // For JSON Lines. text() counts malformed sequences. Throws Error (failure) if the object, or an
  // object in it, lacks the field or the field is no text.
  const nlohmann::json& object() const { return *object_; }
  std::string text(const std::string& name) { return text(name, *object_); }
  std::string text(const std::string& name, const nlohmann::json& object);
  // A text of the object, whose malformed sequences are counted.
  std::string valid(std::string text);

  // FILE:LINE, of the first line of a CSV record.
  std::string location() const { return lines_.location(-more_lines_); }
  [[noreturn]] void refuse(const std::string& what) const;
  void refuse_blank(const std::string& name, std::string_view text) const;

 private:
  LineReader& lines_;
  Options options_;
  JsonLineParser parser_;
  std::string_view line_;
  std::string repaired_;
  CsvRecord record_;
  std::vector<std::string> repaired_cells_;
  std::int64_t more_lines_ = 0;  // of the CSV record, after its first
  std::optional<nlohmann::json> object_;
  std::int64_t blank_ = 0;
  bool begun_ = false;

  TextFormat found_format() const;
  void read_csv_record();
};

}  // namespace roformer
