#include "report/table_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace roformer {
namespace {

// Characters that LaTeX reads as commands, and those of our tables that pdfLaTeX's fonts lack.
constexpr std::pair<std::string_view, std::string_view> kLatex[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\$"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"~", "\\textasciitilde{}"},
    {"^", "\\textasciicircum{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"--", "-{}"},  // the second hyphen follows
    {"`", "\\textasciigrave{}"},
    {"\n", " "},
    {"–", "--"},
    {"—", "---"},
    {"…", "\\dots{}"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"·", "$\\cdot$"},
    {"−", "$-$"},
    {"→", "$\\rightarrow$"},
    {"←", "$\\leftarrow$"},
    {"≤", "$\\leq$"},
    {"≥", "$\\geq$"},
    {"≈", "$\\approx$"},
    {"≠", "$\\neq$"},
    {"∞", "$\\infty$"},
    {"√", "$\\surd$"},
    {"α", "$\\alpha$"},
    {"β", "$\\beta$"},
    {"γ", "$\\gamma$"},
    {"δ", "$\\delta$"},
    {"Δ", "$\\Delta$"},
    {"ε", "$\\epsilon$"},
    {"θ", "$\\theta$"},
    {"λ", "$\\lambda$"},
    {"μ", "$\\mu$"},
    {"π", "$\\pi$"},
    {"ρ", "$\\rho$"},
    {"σ", "$\\sigma$"},
    {"τ", "$\\tau$"},
    {"φ", "$\\phi$"},
    {"ω", "$\\omega$"},
};

std::string latex_cell(const Table& table, std::size_t row, std::size_t column,
                       const std::string& longest) {
  std::string text = table.text(row, column);
  // -0.5 with a minus sign, not a hyphen.
  const bool figure = !std::holds_alternative<std::string>(table.rows()[row][column]);
  std::string result;
  if (figure && text.size() > 1 && text.front() == '-') {
    text.erase(0, 1);
    result = "$-$";
  }
  result += escape_latex(text);
  if (table.is_best(row, column)) result = "\\textbf{" + result + "}";
  const bool aligned = table.columns()[column].alignment == Column::Alignment::right && figure;
  if (aligned && !longest.empty() && table.deviation_text(row, column).empty()) {
    result += "\\phantom{" + escape_latex(longest) + "}";
  }
  return result;
}

}  // namespace

std::string escape_latex(std::string_view given) {
  const std::string clean = clean_text(given);
  std::string result;
  for (std::string_view text = clean; !text.empty();) {
    const auto known = std::ranges::find_if(
        kLatex, [&](const auto& entry) { return text.starts_with(entry.first); });
    const bool plain = known == std::end(kLatex);
    result += plain ? text.substr(0, 1) : known->second;
    text.remove_prefix(plain || known->first == "--" ? 1 : known->first.size());
  }
  return result;
}

std::string to_latex(const Table& table, const TableWords& words) {
  const std::vector<Column>& columns = table.columns();
  std::string alignments, headings, rows, note = words.note;
  std::vector<std::string> longest(columns.size());  // deviation of each column
  bool any_best = false;
  for (std::size_t column = 0; column < columns.size(); ++column) {
    alignments += columns[column].alignment == Column::Alignment::left    ? 'l'
                  : columns[column].alignment == Column::Alignment::right ? 'r'
                                                                          : 'c';
    headings += (column == 0 ? "" : " & ") + escape_latex(columns[column].heading());
    longest[column] = table.longest_deviation(column);
  }
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    std::string line;
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const std::string cell = latex_cell(table, row, column, longest[column]);
      line += (column == 0 ? "" : " & ") + cell;
      any_best |= table.is_best(row, column);
    }
    // After \\ in the row before, LaTeX takes these for arguments.
    if (line.starts_with('[') || line.starts_with('*')) line.insert(0, "{}");
    rows += line + " \\\\\n";
  }
  if (any_best) note += std::string(note.empty() ? "" : " ") + "Bold: the best of a column.";
  std::string result = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n";
  if (!words.title.empty()) result += "\\caption{" + escape_latex(words.title) + "}\n";
  result += fmt::format(
      "\\begin{{tabular}}{{{}}}\n\\toprule\n{} \\\\\n\\midrule\n{}\\bottomrule\n\\end{{tabular}}\n",
      alignments, headings, rows);
  if (!note.empty()) result += "\n\\smallskip\n{\\footnotesize " + escape_latex(note) + "}\n";
  return result + "\\end{table}\n";
}

std::string formatted(const Table& table, std::string_view format, const TableWords& words) {
  if (format == "markdown") return to_markdown(table);
  if (format == "csv") return to_csv(table);
  if (format == "latex") return to_latex(table, words);
  if (format == "json") {
    return to_json(table).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
           "\n";
  }
  ROFORMER_ASSERT(format == "text");
  return to_text(table, for_terminal());
}

}  // namespace roformer
