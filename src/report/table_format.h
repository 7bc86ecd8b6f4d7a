// The forms in which commands print a table, by their names on the command line, and the one that
// papers are written in: LaTeX with booktabs.
#pragma once

#include <array>
#include <string>

#include "report/table.h"

namespace roformer {

inline constexpr std::array kTableFormats = {"text", "markdown", "csv", "json", "latex"};

struct TableWords {
  std::string title = {};  // LaTeX: the caption
  std::string note = {};   // LaTeX: small print below the rows
};

// A table environment; a comment in its first line names the package that the document needs. The
// best figures are bold, and the means of a column are aligned whether or not they have a
// deviation. Works with pdfLaTeX as with XeLaTeX and LuaLaTeX, as far as their fonts have the
// characters of names.
std::string to_latex(const Table& table, const TableWords& words = {});

// Text, safe in LaTeX. Control characters are shown as in to_text().
std::string escape_latex(std::string_view text);

// The table as `format`, one of kTableFormats; text in the width of the terminal. Only LaTeX has
// the words.
std::string formatted(const Table& table, std::string_view format, const TableWords& words = {});

}  // namespace roformer
