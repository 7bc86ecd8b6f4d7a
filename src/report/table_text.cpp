// Tables for people: aligned text and Markdown.
#include <unistd.h>

#include <algorithm>

#include "base/parts.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "report/table.h"

namespace roformer {
namespace {

constexpr std::size_t kGap = 2;

std::string aligned(const std::string& text, std::size_t width, Column::Alignment alignment) {
  const std::size_t used = columns_of(text);
  const std::size_t space = width > used ? width - used : 0;
  const std::size_t before = alignment == Column::Alignment::left    ? 0
                             : alignment == Column::Alignment::right ? space
                                                                     : space / 2;
  return std::string(before, ' ') + text + std::string(space - before, ' ');
}

// The cells as text. Where some rows of a column have a deviation, the others get its width in
// spaces, so that the means are aligned.
std::vector<std::vector<std::string>> cell_texts(const Table& table) {
  std::vector<std::vector<std::string>> texts(table.rows().size());
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    const auto tail_of = [&](std::size_t row) {
      return columns_of(table.deviation_text(row, column));
    };
    std::size_t longest = 0;
    for (std::size_t row = 0; row < texts.size(); ++row) longest = std::max(longest, tail_of(row));
    const bool padded = table.columns()[column].alignment == Column::Alignment::right;
    for (std::size_t row = 0; row < texts.size(); ++row) {
      const bool words = std::holds_alternative<std::string>(table.rows()[row][column]);
      const std::size_t missing = padded && !words ? longest - tail_of(row) : 0;
      texts[row].push_back(clean_text(table.text(row, column)) + std::string(missing, ' '));
    }
  }
  return texts;
}

std::size_t longest_word(const std::string& text) {
  std::size_t longest = 0;
  for (const std::string_view word : split_at(text, ' ')) {
    longest = std::max(longest, columns_of(word));
  }
  return longest;
}

// The widest cell of a column, its heading included.
std::size_t natural_width(const Table& table, std::size_t column,
                          const std::vector<std::vector<std::string>>& texts) {
  std::size_t width = columns_of(clean_text(table.columns()[column].heading()));
  for (const auto& row : texts) width = std::max(width, columns_of(row[column]));
  return width;
}

// The narrowest that a column gets: figures and headings' words whole, other words at least
// `kNarrowest` cells of them, and in the first column, which names the rows, `kName`.
std::size_t least_width(const Table& table, std::size_t column,
                        const std::vector<std::vector<std::string>>& texts) {
  constexpr std::size_t kNarrowest = 12, kName = 24;
  const std::size_t part = column == 0 ? kName : kNarrowest;
  std::size_t least = longest_word(table.columns()[column].heading());
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const bool words = std::holds_alternative<std::string>(table.rows()[row][column]);
    const std::string& text = texts[row][column];
    least = std::max(least, words ? std::min(part, longest_word(text)) : columns_of(text));
  }
  return least;
}

void append_lines(std::string& result, const Table& table, const std::vector<std::string>& cells,
                  const std::vector<std::size_t>& widths) {
  std::vector<std::vector<std::string>> wrapped;
  std::size_t lines = 0;
  for (std::size_t column = 0; column < cells.size(); ++column) {
    const bool fits = columns_of(cells[column]) <= widths[column];
    wrapped.push_back(fits ? std::vector{cells[column]} : wrap_text(cells[column], widths[column]));
    lines = std::max(lines, wrapped.back().size());
  }
  for (std::size_t line = 0; line < lines; ++line) {
    std::string text;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string part = line < wrapped[column].size() ? wrapped[column][line] : "";
      text.append(column == 0 ? 0 : kGap, ' ');
      text += aligned(part, widths[column], table.columns()[column].alignment);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += text + "\n";
  }
}

// Tables of some of the columns each, none wider than `width` if that can be. Each begins with the
// first column, which names the rows.
std::vector<Table> parts_of(const Table& table, std::size_t width) {
  const std::vector<std::vector<std::string>> texts = cell_texts(table);
  std::vector<std::vector<std::size_t>> parts;
  std::size_t used = 0;
  for (std::size_t column = 1; column < table.columns().size(); ++column) {
    const std::size_t wanted = kGap + natural_width(table, column, texts);
    if (parts.empty() || used + wanted > width) {
      parts.push_back({0});
      used = natural_width(table, 0, texts);
    }
    parts.back().push_back(column);
    used += wanted;
  }
  std::vector<Table> result;
  for (const std::vector<std::size_t>& part : parts) result.push_back(table.only(part));
  return result;
}

std::string markdown_cell(std::string_view text) {
  std::string result;
  for (const char c : clean_text(text)) {
    if (c == '|' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "<br>";
    } else if (c == '<') {
      result += "&lt;";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

TextTableRows::TextTableRows(const Table& expected, const TextTableOptions& options) {
  const std::vector<Column>& columns = expected.columns();
  const std::vector<std::vector<std::string>> texts = cell_texts(expected);
  std::vector<std::size_t> least;
  std::size_t total = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const std::size_t width = natural_width(expected, column, texts);
    widths_.push_back(width);
    least.push_back(std::min(width, least_width(expected, column, texts)));
    total += width;
  }
  for (; total > options.width; --total) {
    std::size_t widest = columns.size();
    for (std::size_t column = 0; column < columns.size(); ++column) {
      if (widths_[column] <= least[column]) continue;
      if (widest == columns.size() || widths_[column] > widths_[widest]) widest = column;
    }
    if (widest == columns.size()) break;
    --widths_[widest];
  }
}

std::size_t TextTableRows::width() const {
  std::size_t width = widths_.empty() ? 0 : kGap * (widths_.size() - 1);
  for (const std::size_t column : widths_) width += column;
  return width;
}

std::string TextTableRows::head(const Table& table) const {
  std::vector<std::string> headings;
  for (const Column& column : table.columns()) {
    headings.push_back(clean_text(column.heading()));
  }
  std::string result;
  append_lines(result, table, headings, widths_);
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    result.append(column == 0 ? 0 : kGap, ' ');
    for (std::size_t i = 0; i < widths_[column]; ++i) result += "─";
  }
  return result + "\n";
}

std::string TextTableRows::row(const Table& table, std::size_t row) const {
  std::string result;
  append_lines(result, table, cell_texts(table)[row], widths_);
  return result;
}

std::string TextTableRows::rows(const Table& table) const {
  std::string result;
  for (const auto& cells : cell_texts(table)) append_lines(result, table, cells, widths_);
  return result;
}

std::string to_text(const Table& table, const TextTableOptions& options) {
  const TextTableRows text(table, options);
  if (!options.continued || text.width() <= options.width || table.columns().size() <= 2) {
    return text.head(table) + text.rows(table);
  }
  std::string result;
  for (const Table& part : parts_of(table, options.width)) {
    const TextTableRows rows(part, options);
    result += (result.empty() ? "" : "\n") + rows.head(part) + rows.rows(part);
  }
  return result;
}

std::size_t terminal_width() {
  constexpr std::size_t kPage = 120;
  return terminal_columns(STDOUT_FILENO, kPage);
}

TextTableOptions for_terminal() {
  return {.width = terminal_width(), .continued = ::isatty(STDOUT_FILENO) == 1};
}

std::string to_markdown(const Table& table) {
  std::string headings = "|";
  std::string rule = "|";
  for (const Column& column : table.columns()) {
    headings += " " + markdown_cell(column.heading()) + " |";
    rule += column.alignment == Column::Alignment::left    ? "---|"
            : column.alignment == Column::Alignment::right ? "---:|"
                                                           : ":---:|";
  }
  std::string result = headings + "\n" + rule + "\n";
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    result += "|";
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
      const std::string text = markdown_cell(table.text(row, column));
      result += table.is_best(row, column) ? " **" + text + "** |" : " " + text + " |";
    }
    result += "\n";
  }
  return result;
}

}  // namespace roformer
