#include "report/html.h"

#include <fmt/format.h>

#include "report/html_page.h"
#include "report/svg.h"

namespace roformer {
namespace {

// Escapes, and turns `code` and **bold** into elements; an opening mark without its end is text.
std::string inline_markup(std::string_view text) {
  struct Mark {
    std::string_view mark;
    std::string_view element;
  };
  constexpr Mark kMarks[] = {{"`", "code"}, {"**", "strong"}};
  std::string result;
  while (!text.empty()) {
    bool marked = false;
    for (const auto& [mark, element] : kMarks) {
      const std::size_t end = text.find(mark, mark.size());
      if (!text.starts_with(mark) || end == std::string_view::npos) continue;
      result += fmt::format("<{0}>{1}</{0}>", element,
                            escape_xml(text.substr(mark.size(), end - mark.size())));
      text.remove_prefix(end + mark.size());
      marked = true;
      break;
    }
    if (marked) continue;
    const std::size_t next = std::min(text.find_first_of("`*", 1), text.size());
    result += escape_xml(text.substr(0, next));
    text.remove_prefix(next);
  }
  return result;
}

std::string_view alignment_class(Column::Alignment alignment) {
  return alignment == Column::Alignment::left    ? ""
         : alignment == Column::Alignment::right ? "right"
                                                 : "center";
}

// Cells without a deviation get the column's longest one unseen, so that the means stand below each
// other.
std::string longest_deviation(const Table& table, std::size_t column) {
  std::string longest;
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    const std::string text = table.deviation_text(row, column);
    if (text.size() > longest.size()) longest = text;
  }
  return longest;
}

constexpr int kNarrowWidth = 352;  // a figure's on a telephone of 400 pixels

template <typename Chart>
std::string at_both_widths(const Chart& chart) {
  Chart narrow = chart;
  narrow.width = kNarrowWidth;
  return "<div class=\"wide\">\n" + to_svg(chart, SvgUse::embedded) +
         "</div><div class=\"narrow\">\n" + to_svg(narrow, SvgUse::embedded) + "</div>";
}

}  // namespace

std::string to_html(const Table& table) {
  std::string result = "<table>\n<thead><tr>";
  for (const Column& column : table.columns()) {
    result +=
        fmt::format("<th class=\"{}\" data-key=\"{}\">{}</th>", alignment_class(column.alignment),
                    escape_xml(column.name()), escape_xml(column.heading()));
  }
  result += "</tr></thead>\n<tbody>\n";
  std::vector<std::string> deviations;
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    deviations.push_back(longest_deviation(table, column));
  }
  for (std::size_t row = 0; row < table.rows().size(); ++row) {
    result += "<tr>";
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
      const bool words = std::holds_alternative<std::string>(table.rows()[row][column]);
      std::string unseen;
      if (!words && !deviations[column].empty() && table.deviation_text(row, column).empty()) {
        unseen = "<span class=\"pad\" aria-hidden=\"true\">" + deviations[column] + "</span>";
      }
      result += fmt::format("<td class=\"{}{}{}\">{}{}</td>",
                            alignment_class(table.columns()[column].alignment),
                            table.is_best(row, column) ? " best" : "", words ? " words" : "",
                            escape_xml(table.text(row, column)), unseen);
    }
    result += "</tr>\n";
  }
  return result + "</tbody>\n</table>\n";
}

void HtmlReport::section(std::string_view title) {
  sections_.emplace_back(title);
  body_ += fmt::format("<h2 id=\"section-{}\">{}</h2>\n", sections_.size(), escape_xml(title));
}

void HtmlReport::paragraph(std::string_view text) {
  body_ += "<p>" + inline_markup(text) + "</p>\n";
}

void HtmlReport::key_figures(const std::vector<KeyFigure>& figures) {
  body_ += "<div class=\"figures\">\n";
  for (const KeyFigure& figure : figures) {
    body_ += fmt::format("<div><b>{}</b><span>{}</span>", escape_xml(figure.value),
                         escape_xml(figure.name));
    if (!figure.remark.empty()) body_ += "<span>" + escape_xml(figure.remark) + "</span>";
    body_ += "</div>\n";
  }
  body_ += "</div>\n";
}

void HtmlReport::table(const Table& table, std::string_view caption) {
  body_ += "<figure>\n" + to_html(table);
  if (!caption.empty()) body_ += "<figcaption>" + inline_markup(caption) + "</figcaption>\n";
  body_ += "</figure>\n";
}

void HtmlReport::chart(const LineChart& chart) {
  figure(at_both_widths(chart));
}

void HtmlReport::chart(const DotChart& chart) {
  figure(at_both_widths(chart));
}

void HtmlReport::chart(const ShareChart& chart) {
  figure(at_both_widths(chart));
}

void HtmlReport::chart(const HeatMapGrid& grid) {
  std::string panels;
  for (const HeatMap& map : grid.maps) panels += to_svg(map, SvgUse::embedded);
  body_ +=
      fmt::format("<figure>\n<h3>{}</h3>\n<p>{}</p>\n<div class=\"maps\">\n{}</div></figure>\n",
                  escape_xml(grid.title), escape_xml(grid.subtitle), panels);
}

void HtmlReport::chart(const LineChartGrid& grid) {
  std::string panels;
  for (LineChart panel : grid.panels) {
    panel.width = kNarrowWidth;
    panel.height = grid.panel_height;
    panels += to_svg(panel, SvgUse::embedded);
  }
  body_ +=
      fmt::format("<figure>\n<h3>{}</h3>\n<p>{}</p>\n<div class=\"panels\">\n{}</div></figure>\n",
                  escape_xml(grid.title), escape_xml(grid.subtitle), panels);
}

void HtmlReport::begin_part(const Part& part) {
  body_ += fmt::format("<div data-filter=\"{}\" data-value=\"{}\" data-column=\"{}\">\n",
                       escape_xml(part.filter), escape_xml(part.value), escape_xml(part.column));
}

void HtmlReport::figure(const std::string& svg) {
  body_ += "<figure>\n" + svg + "</figure>\n";
}

void HtmlReport::details(std::string_view summary, std::string_view preformatted) {
  body_ += fmt::format("<details><summary>{}</summary><pre>{}</pre></details>\n",
                       escape_xml(summary), escape_xml(preformatted));
}

std::string HtmlReport::html() const {
  std::string contents;
  if (sections_.size() > 1) {
    contents = "<nav>";
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      contents += fmt::format("<a href=\"#section-{}\">{}</a>", i + 1, escape_xml(sections_[i]));
    }
    contents += "</nav>\n";
  }
  const bool filters = body_.find("<div data-filter=") != std::string::npos;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{0}</title>\n<style>{1}{2}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n"
      "<p class=\"subtitle\">{3}</p>\n{4}{5}<footer>{6}</footer>\n</main>\n"
      "<script>{7}{8}</script>\n</body>\n</html>\n",
      escape_xml(heading_.title), kPageStyle, chart_style(), inline_markup(heading_.subtitle),
      contents, body_, inline_markup(heading_.footer), kPageScript, filters ? kFilterScript : "");
}

}  // namespace roformer
