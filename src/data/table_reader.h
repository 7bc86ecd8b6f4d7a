// A file of labelled examples as a table with named columns: CSV, TSV or JSON Lines, compressed or
// not.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_reader.h"
#include "data/record_reader.h"

namespace roformer {

class TableReader {
 public:
  struct Options {
    // automatic: JSON Lines by the name of the file or if the first line begins with {, CSV or TSV
    // by the name (compressed or not) or by the separator in the first line.
    TextFormat format = TextFormat::automatic;
    bool header = true;        // the first line of CSV or TSV names the columns
    bool skip_broken = false;  // leaves out lines that are no JSON objects
    // If not empty: a first line without any of these names is a row of a plain text file, unless
    // the name of the file says that it is CSV or TSV. Such a file has one column, or several with
    // tabs between them.
    std::vector<std::string> expected = {};
    std::string hint_for_broken = "wanted one JSON object per line";  // of lines that are none
  };

  // `file`: "-" is standard input. Throws Error as LineReader does, and for an empty file.
  TableReader(const std::filesystem::path& file, Options options);

  // The names of the columns: the first line, the fields of the first object (sorted), or the
  // numbers from 1. Empty if all lines are left out.
  const std::vector<std::string>& names() const { return names_; }
  bool is_plain() const { return plain_; }  // a text file without names
  bool is_json() const { return records_.is_json(); }
  TextFormat format() const { return records_.format(); }

  // The column with this name, or with this number from 1. Throws Error (usage) that names `key`:
  // if there is none, with the columns and the nearest name; if two columns have the name.
  std::size_t column(const std::string& wanted, std::string_view key) const;
  bool has(std::string_view name) const;

  // Goes to the next row. Returns false after the last. Throws Error (failure, FILE:LINE) for a row
  // with another number of cells.
  bool next();
  // A cell of the row as valid UTF-8. JSON numbers and booleans are written out, a list of texts is
  // joined by |, null is empty. Throws Error (failure) if a JSON object lacks the field.
  std::string text(std::size_t column);
  // The cells of a list of texts in JSON, else the cell divided at `separator`, both without blanks
  // around them.
  std::vector<std::string> list(std::size_t column, char separator);
  // All cells in the order of names(); a field that a JSON object lacks is empty.
  std::vector<std::string> row();
  // The JSON object of the row.
  const nlohmann::json& object() const { return records_.object(); }

  std::string location() const { return records_.location(); }
  const std::string& file() const { return file_; }
  // How many blank lines are before the row, and before the first row also lines that are left out.
  std::int64_t blank_before() const { return blank_; }
  bool is_left_out() const { return records_.is_left_out(); }
  LineReader& lines() { return lines_; }

 private:
  std::string file_;
  Options options_;
  LineReader lines_;
  RecordReader records_;
  std::vector<std::string> names_;
  std::vector<std::string> cells_;
  std::int64_t blank_ = 0;
  bool plain_ = false;
  bool first_is_read_ = false;  // the constructor read the first row to learn the names

  const nlohmann::json* field(std::size_t column) const;
  void warn_of_near_names() const;
};

}  // namespace roformer
