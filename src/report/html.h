// A report as one HTML file: headings, paragraphs, key figures, tables and charts, readable
// offline, in light and dark, on paper and on a telephone. Nothing is loaded from anywhere.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart.h"
#include "report/table.h"

namespace roformer {

// The table with its best figures in bold. Words are escaped.
std::string to_html(const Table& table);

// Throws Error (usage) that names `flag` if the path does not end in .html or .htm.
void require_page_name(const std::filesystem::path& page, const std::string& flag);

// Everything given is text and is escaped; in paragraphs and captions `code` between backquotes
// and **bold** are understood.
class HtmlReport {
 public:
  struct Heading {
    std::string title;
    std::string subtitle;
    std::string footer;  // where the figures come from: command, version, data
  };
  explicit HtmlReport(Heading heading) : heading_(std::move(heading)) {}

  // A section with a line in the table of contents.
  void section(std::string_view title);
  void paragraph(std::string_view text);
  // Large figures with a small name, in a row.
  struct KeyFigure {
    std::string value;
    std::string name;
    std::string remark;
  };
  void key_figures(const std::vector<KeyFigure>& figures);
  void table(const Table& table, std::string_view caption = "");
  // Charts of lines, dots and shares are drawn twice, as wide as the column and as wide as a
  // telephone; the page shows the legible one.
  void chart(const LineChart& chart);
  void chart(const DotChart& chart);
  void chart(const ShareChart& chart);
  // The panels are side by side where there is room, else below each other.
  void chart(const LineChartGrid& grid);
  void chart(const HeatMap& chart) { figure(to_svg(chart, SvgUse::embedded)); }
  void chart(const HeatMapGrid& grid);
  // The content up to end_part() is shown while the reader has chosen this value of a filter, or
  // all of its values, by buttons above the contents, which need the page's script. Columns of
  // tables whose key is `column` are shown and hidden with it. Parts of different filters may be
  // nested.
  struct Part {
    std::string filter;  // "length"
    std::string value;   // "128"
    std::string column;  // "test_loss_at_length_128"; empty: none
  };
  void begin_part(const Part& part);
  void end_part() { body_ += "</div>\n"; }
  // Long text that opens with a click: a configuration, a log.
  void details(std::string_view summary, std::string_view preformatted);

  std::string html() const;

 private:
  Heading heading_;
  std::vector<std::string> sections_;
  std::string body_;

  void figure(const std::string& svg);
  void side_by_side(std::string_view title, std::string_view subtitle, std::string_view css_class,
                    std::string_view panels);
};

}  // namespace roformer
