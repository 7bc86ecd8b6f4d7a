#include "report/chart.h"

#include <cmath>
#include <limits>
#include <regex>

#include "catch.h"
#include "report/chart_parts.h"
#include "report/svg.h"
#include "said.h"
#include "xml_check.h"

using namespace roformer;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string labels(const std::vector<Tick>& ticks) {
  std::string result;
  for (const Tick& tick : ticks) result += (result.empty() ? "" : " ") + tick.label;
  return result;
}

std::string ticks_between(double low, double high, Axis::Scale scale = Axis::Scale::linear) {
  return labels(make_ticks({.low = low, .high = high, .scale = scale}, 5));
}

LineChart two_lines() {
  return {.title = "Loss <of> \"rope\" & others",
          .x = {.title = "step"},
          .y = {.title = "loss", .unit = "nats"},
          .series = {{.name = "rope", .x = {0, 1, 2}, .y = {9, 5, 4}},
                     {.name = "a & b", .x = {0, 1, 2}, .y = {9, 6, 5}}}};
}

const double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("ticks stand at round values") {
  CHECK(ticks_between(0, 1) == "0 0.2 0.4 0.6 0.8 1.0");
  CHECK(ticks_between(3.7, 9.4) == "4 5 6 7 8 9");
  CHECK(ticks_between(-1, 1) == "-1.0 -0.5 0 0.5 1.0");
  CHECK(ticks_between(0, 100000) == "0 20k 40k 60k 80k 100k");
  CHECK(ticks_between(0, 2.5e7) == "0 5M 10M 15M 20M 25M");
  CHECK(ticks_between(0, 5e-5) == "0 1e-5 2e-5 3e-5 4e-5 5e-5");
  CHECK(ticks_between(1, 1000, Axis::Scale::logarithmic) == "1 10 100 1000");
  CHECK(ticks_between(40, 400, Axis::Scale::logarithmic) == "50 100 200");
  CHECK(ticks_between(1e-8, 1, Axis::Scale::logarithmic) ==
        "1e-8 1e-7 1e-6 1e-5 0.0001 0.001 0.01 0.1 1");
  const AxisScale asked =
      fit_scale({.scale = Axis::Scale::logarithmic, .ticks = {64, 128, 512}}, {128, 1024}, 0);
  CHECK(labels(make_ticks(asked, 5)) == "128 512");
}

TEST_CASE("an axis is never empty") {
  for (const auto& values :
       std::vector<std::vector<double>>{{}, {kNan}, {3}, {0, 0}, {-1e300, 1e300}}) {
    for (const auto scale : {Axis::Scale::linear, Axis::Scale::logarithmic}) {
      const AxisScale fitted = fit_scale({.scale = scale}, values, 0.05);
      CHECK(fitted.high > fitted.low);
      CHECK(!make_ticks(fitted, 5).empty());
    }
  }
  const AxisScale logarithmic{.low = 1, .high = 100, .scale = Axis::Scale::logarithmic};
  CHECK(logarithmic.fraction(10) == Approx(0.5));
  CHECK(std::isnan(logarithmic.fraction(0)));
}

TEST_CASE("names that would overlap are moved apart and no further") {
  const LabelSpace space{.gap = 10, .first = 0, .last = 100};
  using Places = std::vector<double>;
  CHECK(spread_labels({20, 50}, space) == Places{20, 50});
  CHECK(spread_labels({50, 50}, space) == Places{45, 55});
  CHECK(spread_labels({98, 99}, space) == Places{90, 100});
  CHECK(spread_labels({0, 1, 2, 60}, space) == Places{0, 10, 20, 60});
  CHECK(spread_labels(Places(12, 50), space).empty());
  const Places many = spread_labels({1, 3, 3, 4, 40, 41, 47, 90, 100, 100}, space);
  REQUIRE(many.size() == 10);
  for (std::size_t i = 1; i < many.size(); ++i) CHECK(many[i] - many[i - 1] >= 10 - 1e-9);
}

TEST_CASE("a long curve keeps its extremes and loses what nobody sees") {
  std::vector<Point> points;
  for (int i = 0; i < 100000; ++i) points.push_back({i / 200.0, std::sin(i * 0.7)});
  points[40500].y = 77;
  const std::vector<Point> kept = thinned(points);
  CHECK(kept.size() <= 2000);
  CHECK(std::any_of(kept.begin(), kept.end(), [](const Point& point) { return point.y == 77; }));
  CHECK(line_path({{0, 1}, {1, 2.125}, {2, kNan}, {3, 4}}) == "M0 1L1 2.12M3 4");
}

TEST_CASE("a line chart is well-formed, titled and named") {
  const std::string svg = to_svg(two_lines());
  CHECK(xml_problem(svg) == "");
  CHECK(svg.find("<title>Loss &lt;of&gt; &quot;rope&quot; &amp; others</title>") !=
        std::string::npos);
  CHECK(svg.find("loss (nats)") != std::string::npos);
  CHECK(count(svg, "data-name=") == 2);
  CHECK(count(svg, "<circle") == 6);  // few points are marked
  CHECK(count(svg, "class=\"leader") == 2);
  CHECK(svg.find("prefers-color-scheme:dark") != std::string::npos);
  CHECK(to_svg(two_lines(), SvgUse::embedded).find("<style>") == std::string::npos);
}

TEST_CASE("names go to a legend where a line ends early or names do not fit") {
  LineChart early = two_lines();
  early.series[1].x = {0, 0.5, 1};
  CHECK(count(to_svg(early), "class=\"leader") == 0);
  CHECK(to_svg(early).find(">a &amp; b</text>") != std::string::npos);
  LineChart crowded = two_lines();
  for (int i = 0; i < 24; ++i) {
    crowded.series.push_back({.name = "s" + std::to_string(i), .x = {0, 2}, .y = {9, 5}});
  }
  CHECK(count(to_svg(crowded), "class=\"leader") == 0);
  CHECK(xml_problem(to_svg(crowded)) == "");
}

TEST_CASE("no two of forty lines look alike") {
  std::vector<std::string> looks;
  for (std::size_t i = 0; i < 40; ++i) {
    looks.push_back(std::to_string(series_colour(i)) + std::string(series_dashes(i)));
  }
  std::sort(looks.begin(), looks.end());
  CHECK(std::adjacent_find(looks.begin(), looks.end()) == looks.end());
}

TEST_CASE("nothing to show, or nothing finite, is a picture all the same") {
  CHECK(xml_problem(to_svg(LineChart{})) == "");
  CHECK(xml_problem(to_svg(DotChart{})) == "");
  CHECK(xml_problem(to_svg(LineChartGrid{})) == "");
  CHECK(xml_problem(to_svg(HeatMap{.values = {{kNan}}})) == "");
  CHECK(xml_problem(to_svg(HeatMapGrid{})) == "");
  LineChart chart = two_lines();
  chart.series[0].y = {kNan, kNan, INFINITY};
  chart.series[1].y = {9, kNan, 5};
  chart.series[1].low = {8, kNan, 4};
  chart.series[1].high = {10, kNan, 6};
  chart.references = {{.value = 1, .label = "here"},
                      {.direction = ReferenceLine::Direction::horizontal, .value = 7}};
  for (const auto scale : {Axis::Scale::linear, Axis::Scale::logarithmic}) {
    chart.x.scale = chart.y.scale = scale;
    const std::string svg = to_svg(chart);
    CHECK(xml_problem(svg) == "");
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
  }
}

TEST_CASE("dots lie on an axis that is fitted to them") {
  DotChart chart{
      .title = "Loss",
      .dots = {{.name = "rope", .value = 4.755, .low = 4.75, .high = 4.76, .parts = {4.751, 4.759}},
               {.name = "none", .value = 4.765},
               {.name = "t5", .value = kNan}},
      .value = {.title = "loss"},
      .format = {NumberFormat::Style::fixed, 3}};
  const auto places = [](const std::string& svg) {
    const std::regex dot(R"re(<circle cx="([0-9.]+)" cy="[0-9.]+" r="5" class="fill c)re");
    std::vector<double> result;
    for (std::sregex_iterator match(svg.begin(), svg.end(), dot), end; match != end; ++match) {
      result.push_back(std::stod((*match)[1]));
    }
    return result;
  };
  const std::string svg = to_svg(chart);
  CHECK(xml_problem(svg) == "");
  REQUIRE(places(svg).size() == 2);              // what is not finite has no dot
  CHECK(places(svg)[1] - places(svg)[0] > 300);  // a hundredth of a nat is most of the width
  CHECK(count(svg, "class=\"whisker") == 3);
  CHECK(count(svg, "class=\"line part") == 2);
  CHECK(svg.find(">4.755</text>") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  // A line belongs to the axis too.
  chart.references = {{.value = 6, .label = "unigram"}};
  const std::string far = to_svg(chart);
  CHECK(far.find(">unigram</text>") != std::string::npos);
  CHECK(places(far)[1] - places(far)[0] < 10);
  // One group needs no colours, several do.
  CHECK(far.find("class=\"fill c1") == std::string::npos);
  chart.dots[1].group = "other";
  CHECK(to_svg(chart).find("class=\"fill c1") != std::string::npos);
}

TEST_CASE("panels of a grid share their background") {
  LineChart one = two_lines();
  one.context = {{.name = "far", .x = {0, 2}, .y = {20, 19}}};
  const LineChartGrid grid{.title = "By family", .panels = {one, one, one}};
  const std::string svg = to_svg(grid);
  CHECK(xml_problem(svg) == "");
  CHECK(count(svg, "<g transform") == 3);
  CHECK(count(svg, "class=\"context\"") == 3);
  CHECK(svg.find(">far</text>") == std::string::npos);
  CHECK(svg.find(">20</text>") != std::string::npos);  // the axis reaches there
}

TEST_CASE("a standalone picture states its colours literally, for light and for dark") {
  const std::string svg = to_svg(two_lines());
  CHECK(svg.find("var(") == std::string::npos);
  CHECK(svg.find("currentColor") == std::string::npos);
  CHECK(svg.find("--") == std::string::npos);
  CHECK(svg.find("height:auto") == std::string::npos);  // of a page, and no size to every program
  // A program that reads no style sheet sees every colour at its mark.
  std::string bare = svg;
  bare.erase(bare.find("<style>"), bare.find("</style>") - bare.find("<style>"));
  bare = std::regex_replace(bare, std::regex(" class=\"[^\"]*\""), "");
  CHECK(count(bare, "stroke=\"#0b68b0\" fill=\"none\" stroke-width=\"2\" ") == 1);
  CHECK(count(bare, "fill=\"#0b68b0\"") == 1);  // the line's name
  const std::regex unpainted("<(text|line|path|circle|rect) (?![^>]*(fill|stroke)=\"#)");
  CHECK_FALSE(std::regex_search(bare, unpainted));
  CHECK(svg.find(".chart .line.c0{stroke:#62b1f2}") > svg.find("prefers-color-scheme:dark"));
  const std::string embedded = to_svg(two_lines(), SvgUse::embedded);
  CHECK(embedded.find('#') == std::string::npos);
  CHECK(chart_style().find(".chart .line.c0{stroke:#0b68b0}") <
        chart_style().find("prefers-color-scheme:dark"));
}

TEST_CASE("titles are broken into lines that fit") {
  LineChart chart = two_lines();
  chart.subtitle = "Mean over the seeds, the band is one standard deviation wide to either side";
  chart.width = 352;
  const std::string svg = to_svg(chart);
  CHECK(svg.find(">Mean over the seeds, the band is one standard</text>") != std::string::npos);
  CHECK(Heading{.title = "a b", .width = 20}.height(false) ==
        Heading{.title = "a", .width = 20}.height(false) + 20);
}

TEST_CASE("a heat map has all its cells in few paths") {
  HeatMap map{.title = "bias",
              .values = {{-1, -1, 0}, {2, kNan, kNan}},
              .value_title = "bias",
              .colours = HeatMap::Colours::diverging};
  const std::string svg = to_svg(map);
  CHECK(xml_problem(svg) == "");
  CHECK(svg.find("<rect x=\"0\" y=\"0\" width=\"2\" height=\"1\" fill=\"#") != std::string::npos);
  CHECK(svg.find("height=\"1\" fill=\"#b2182b\"") != std::string::npos);  // the greatest
  CHECK(svg.find("<rect x=\"1\" y=\"1\" width=\"2\" height=\"1\" class=\"masked\"") !=
        std::string::npos);
  map.values.assign(256, std::vector<double>(256));
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) map.values[i][j] = -std::abs(i - j);
  }
  CHECK(to_svg(map).size() < 1000000);
  CHECK(count(to_svg(HeatMapGrid{.title = "heads", .maps = {map, map, map}, .columns = 2}),
              "<g transform") == 3);
}

TEST_CASE("a band has a gap where one of its borders has") {
  LineChart chart = two_lines();
  chart.series = {{.name = "rope",
                   .x = {1, 2, 3, 4, 5},
                   .y = {2, 2, kNan, 2, 2},
                   .low = {1, 1, kNan, 1, 1},
                   .high = {3, 3, 3, 3, 3}}};
  const std::string svg = to_svg(chart);
  const std::size_t end = svg.find("\" class=\"band");
  REQUIRE(end != std::string::npos);
  const std::size_t begin = svg.rfind('"', end - 1);
  const std::string shape = svg.substr(begin, end - begin);
  CHECK(count(shape, "Z") == 2);
  CHECK(count(shape, "M") == 2);
}

TEST_CASE("a name that is too wide loses its middle") {
  const std::string name = "explicit_positions, query, layer_norm";
  CHECK(fitted_text(name, 1000) == name);
  const std::string fitted = fitted_text(name, 120);
  CHECK(text_width(fitted, kFontSize) <= 120);
  CHECK(text_width(fitted, kFontSize) > 100);
  CHECK(fitted.starts_with("explicit"));
  CHECK(fitted.ends_with("er_norm"));
  CHECK(fitted_text("长的中文名字长的中文名字", 60).find("…") != std::string::npos);
  CHECK(fitted_text("长的中文名字长的中文名字", 60).starts_with("长"));
}

TEST_CASE("a picture as PDF") {
  LineChart chart = two_lines();
  chart.title = "θ → \"∞\" (50 %) ü 日";
  chart.series[0].low = {8, 4, 3};
  chart.series[0].high = {10, 6, 5};
  chart.references = {
      {.direction = ReferenceLine::Direction::horizontal, .value = 7, .label = "published"}};
  std::string pdf;
  CHECK(said([&] { pdf = picture_file(draw(chart), "a.pdf"); }).find("1 character") !=
        std::string::npos);
  CHECK(pdf.starts_with("%PDF-1.4\n"));
  CHECK(pdf.ends_with("%%EOF\n"));
  CHECK(pdf.find("/MediaBox [0 0 612 315]") != std::string::npos);
  CHECK(pdf.find("/O16 gs") != std::string::npos);                  // the band
  CHECK(pdf.find("<7075626c6973686564> Tj") != std::string::npos);  // published
  CHECK(pdf.find("/FS 15 Tf <71> Tj") != std::string::npos);        // theta
  CHECK(pdf.find("nan") == std::string::npos);
  // Each entry of the table of contents is the place of an object.
  const std::size_t table = std::stoul(pdf.substr(pdf.rfind("startxref\n") + 10));
  REQUIRE(pdf.compare(table, 5, "xref\n") == 0);
  for (std::size_t i = 1; i <= 8; ++i) {
    const std::size_t entry = pdf.find("65535 f \n", table) + 9 + 20 * (i - 1);
    const std::string object = std::to_string(i) + " 0 obj\n";
    CHECK(pdf.compare(std::stoul(pdf.substr(entry, 10)), object.size(), object) == 0);
  }
  const std::size_t stream = pdf.find("stream\n") + 7;
  const std::size_t length = std::stoul(pdf.substr(pdf.find("/Length ") + 8));
  CHECK(pdf.compare(stream + length, 9, "endstream") == 0);
  CHECK(count(pdf, "\nq\n") == count(pdf, "\nQ\n"));
}

TEST_CASE("nothing to show is a PDF all the same, and other names are SVG") {
  for (const Drawing& drawing : {draw(LineChart{}), draw(DotChart{}), draw(ShareChart{}),
                                 draw(HeatMap{.values = {{kNan}}}), draw(HeatMapGrid{})}) {
    CHECK(picture_file(drawing, "a.pdf").starts_with("%PDF"));
    CHECK(picture_file(drawing, "a.svg") == to_svg(drawing));
  }
}
