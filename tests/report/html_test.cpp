#include "report/html.h"

#include <cmath>

#include "catch.h"
#include "has.h"
#include "xml_check.h"

using namespace roformer;

TEST_CASE("a page escapes what it is given and needs nothing from elsewhere") {
  HtmlReport report({.title = "A <b> & \"c\"", .subtitle = "by `--position`", .footer = "commit"});
  report.section("One & two");
  report.section("Three");
  report.paragraph("**Bold**, `a < b`, 2 * 3 and one ` alone <script>alert(1)</script>");
  report.key_figures({{.value = "3.92", .name = "loss", .remark = "<95 %>"}});
  report.chart(LineChart{.title = "curve", .series = {{.name = "rope", .x = {1}, .y = {2}}}});
  report.details("Configuration", "a: <1>\n");
  const std::string html = report.html();
  CHECK(has(html, "<h1>A &lt;b&gt; &amp; &quot;c&quot;</h1>"));
  CHECK(has(html,
            "<p><strong>Bold</strong>, <code>a &lt; b</code>, 2 * 3 and one ` alone "
            "&lt;script&gt;"));
  CHECK(has(html, "<a href=\"#section-2\">Three</a>"));
  CHECK(has(html, "&lt;95 %&gt;"));
  CHECK(has(html, "<pre>a: &lt;1&gt;\n</pre>"));
  CHECK_FALSE(has(html, "src="));
  CHECK_FALSE(has(html, "<link"));
  CHECK_FALSE(has(html, "url("));
  CHECK_FALSE(has(html, "@import"));
  // The only address in it names the SVG vocabulary.
  std::string without = html;
  for (std::size_t at; (at = without.find("http://www.w3.org/2000/svg")) != std::string::npos;) {
    without.erase(at, 26);
  }
  CHECK_FALSE(has(without, "://"));
}

TEST_CASE("charts are there for the column's width and for a telephone's") {
  HtmlReport report({.title = "r", .subtitle = "", .footer = ""});
  const LineChart line{.title = "curve", .series = {{.name = "rope", .x = {1}, .y = {2}}}};
  report.chart(line);
  report.chart(DotChart{.title = "end", .dots = {{.name = "rope", .value = 2}}});
  const std::string html = report.html();
  CHECK(has(html, "<div class=\"wide\">\n<svg"));
  CHECK(has(html, "<div class=\"narrow\">\n<svg"));
  CHECK(has(html, "viewBox=\"0 0 816"));
  CHECK(has(html, "viewBox=\"0 0 352"));
  HtmlReport panels({.title = "r", .subtitle = "", .footer = ""});
  panels.chart(LineChartGrid{.title = "By family", .panels = {line, line}});
  CHECK(has(panels.html(), "<h3>By family</h3>"));
  CHECK_FALSE(has(panels.html(), "viewBox=\"0 0 816"));
}

TEST_CASE("a table in HTML") {
  Table table(
      {{.title = "scheme", .alignment = Column::Alignment::left},
       {.title = "loss", .format = {NumberFormat::Style::fixed, 2}, .best = Column::Best::lowest}});
  table.add_row({"<rope>", MeanAndDeviation{3.918, 0.014, 3}});
  table.add_row({"none", 5.5});
  const std::string html = to_html(table);
  CHECK(xml_problem(html) == "");
  CHECK(has(html, "<td class=\"right best\">3.92 ± 0.01</td>"));
  CHECK(has(html, "&lt;rope&gt;"));
  CHECK(
      has(html, "<td class=\"right\">5.50<span class=\"pad\" aria-hidden=\"true\"> ± 0.01</span>"));
}

TEST_CASE("a page works on a telephone, in the dark and on paper") {
  HtmlReport report({.title = "r", .subtitle = "", .footer = ""});
  Table table({{.title = "what", .alignment = Column::Alignment::left}});
  table.add_row({std::string(60, 'x')});
  table.add_row({"short"});
  report.table(table, "A caption");
  const std::string html = report.html();
  CHECK(has(html, "name=\"viewport\" content=\"width=device-width"));
  CHECK(has(html, "@media screen and (prefers-color-scheme:dark)"));
  CHECK(has(html, "@media print"));
  // The table alone scrolls; its caption stays.
  CHECK(has(html, "<div class=\"scroll\"><table>"));
  CHECK(has(html, "</div>\n<figcaption>A caption</figcaption>"));
  CHECK(has(html, "<td class=\" words long\">xxx"));
  CHECK(has(html, "<td class=\" words\">short"));
}
