#include "report/table_format.h"

#include <cmath>
#include <limits>

#include "base/terminal.h"
#include "catch.h"

using namespace roformer;

namespace {

using Style = NumberFormat::Style;

Table sample() {
  Table table({{.title = "scheme", .alignment = Column::Alignment::left},
               {.title = "parameters", .format = {Style::count}},
               {.title = "loss",
                .key = "validation_loss",
                .format = {Style::fixed, 2},
                .best = Column::Best::lowest},
               {.title = "speed", .unit = "tokens/s", .format = {Style::count}}});
  table.add_row({"rope", std::int64_t{4512345}, MeanAndDeviation{3.918, 0.0149, 3}, 10250.4});
  table.add_row({"t5|32, \"wide\"", std::int64_t{980}, 13.9, std::monostate{}});
  return table;
}

}  // namespace

TEST_CASE("a table as text") {
  CHECK("\n" + to_text(sample()) == R"(
scheme         parameters          loss  speed (tokens/s)
─────────────  ──────────  ────────────  ────────────────
rope            4,512,345   3.92 ± 0.01            10,250
t5|32, "wide"         980  13.90                        –
)");
}

TEST_CASE("a table that is too wide wraps words and headings, never figures") {
  CHECK("\n" + to_text(sample(), {.width = 45}) == R"(
scheme   parameters          loss       speed
                                   (tokens/s)
───────  ──────────  ────────────  ──────────
rope      4,512,345   3.92 ± 0.01      10,250
t5|32,          980  13.90                  –
"wide"
)");
}

TEST_CASE("a table that people read holds no command for a terminal, data are exact") {
  const std::string foreign =
      "a\x1b[2J\xc2\x9b"
      "31m\xe2\x80\xae";
  Table table({{.title = foreign, .alignment = Column::Alignment::left}});
  table.add_row({foreign});
  for (const std::string& text : {to_text(table), to_markdown(table)}) {
    CHECK(text.find("a?[2J?31m?") != std::string::npos);
    for (const char* bad : {"\x1b", "\xc2\x9b", "\xe2\x80\xae"}) {
      CHECK(text.find(bad) == std::string::npos);
    }
  }
  CHECK(to_csv(table) == foreign + "\n" + foreign + "\n");
  CHECK(to_json(table)[0][foreign] == foreign);
}

TEST_CASE("a table as Markdown") {
  Table tagged({{.title = "row"}});
  tagged.add_row({"a<b>"});
  CHECK(to_markdown(tagged).ends_with("| a&lt;b> |\n"));
  CHECK("\n" + to_markdown(sample()) == R"(
| scheme | parameters | loss | speed (tokens/s) |
|---|---:|---:|---:|
| rope | 4,512,345 | **3.92 ± 0.01** | 10,250 |
| t5\|32, "wide" | 980 | 13.90 | – |
)");
}

TEST_CASE("a table as CSV and JSON keeps every digit") {
  CHECK("\n" + to_csv(sample()) == R"(
scheme,parameters,validation_loss,validation_loss_deviation,validation_loss_count,speed
rope,4512345,3.918,0.0149,3,10250.4
"t5|32, ""wide""",980,13.9,,,
)");
  CHECK(to_json(sample()).dump() ==
        R"([{"scheme":"rope","parameters":4512345,"validation_loss":{"mean":3.918,)"
        R"("deviation":0.0149,"count":3},"speed":10250.4},{"scheme":"t5|32, \"wide\"",)"
        R"("parameters":980,"validation_loss":13.9,"speed":null}])");
}

TEST_CASE("the best figure of a column") {
  Table table({{.title = "score", .best = Column::Best::highest}});
  table.add_row({1.0});
  CHECK_FALSE(table.is_best(0, 0));  // alone
  table.add_row({std::nan("")});
  CHECK_FALSE(table.is_best(0, 0));  // still alone
  table.add_row({2.0});
  table.add_row({MeanAndDeviation{2.0, 0.1, 2}});
  CHECK_FALSE(table.is_best(0, 0));
  CHECK_FALSE(table.is_best(1, 0));
  CHECK(table.is_best(2, 0));
  CHECK(table.is_best(3, 0));
  Table even({{.title = "score", .best = Column::Best::highest}});
  even.add_row({0.0});
  even.add_row({0.0});
  CHECK_FALSE(even.is_best(0, 0));  // where all have won, none has
}

TEST_CASE("an infinity is neither the best nor in the way of it") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Table table({{.title = "loss", .best = Column::Best::lowest}});
  for (const double value : {-kInfinity, 2.0, 1.0, kInfinity}) table.add_row({value});
  CHECK_FALSE(table.is_best(0, 0));
  CHECK_FALSE(table.is_best(1, 0));
  CHECK(table.is_best(2, 0));
}

TEST_CASE("figures that look the same are the best together") {
  Table table(
      {{.title = "loss", .format = {NumberFormat::Style::fixed, 3}, .best = Column::Best::lowest}});
  for (const double loss : {1.0001, 1.0004, 1.0006}) table.add_row({loss});
  CHECK(table.is_best(0, 0));
  CHECK(table.is_best(1, 0));
  CHECK_FALSE(table.is_best(2, 0));
  CHECK(std::get<std::string>(as_words(1.0001, table.columns()[0])) == "1.000");
}

TEST_CASE("figures for people") {
  CHECK(format_number(10309.1, {.digits = 4}) == "10,310");
  CHECK(format_number(-123456, {.digits = 3}) == "-123,000");
  CHECK(format_number(9999.6, {.digits = 4}) == "10,000");
  CHECK(format_number(2.5e9, {.digits = 4}) == "2.5e+09");
  CHECK(format_number(0.00001234) == "1.234e-05");
  CHECK(format_number(3.0) == "3");
  CHECK(format_number(-0.0001, {Style::fixed, 2}) == "0.00");
  CHECK(format_number(-0.5, {Style::fixed, 2}) == "-0.50");
  CHECK(format_number(0.6979, {Style::percent, 1}) == "69.8");
  CHECK(format_number(1234567.5, {Style::count}) == "1,234,568");
  CHECK(format_number(0.0001, {Style::scientific, 0}) == "1e-04");
  CHECK(format_number(std::nan("")) == "–");
  CHECK(format_number(-std::numeric_limits<double>::infinity(), {Style::count}) == "-inf");
}

TEST_CASE("text takes up the cells that a terminal gives it") {
  CHECK(columns_of("rope") == 4);
  CHECK(columns_of("3.92 ± 0.01") == 11);
  CHECK(columns_of("旋转位置") == 8);
  CHECK(columns_of("e\xcc\x81") == 1);
  CHECK(columns_of("\xff\xe4\xbd") == 3);  // not UTF-8
  CHECK(wrap_text("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap_text("旋转位置", 5) == std::vector<std::string>{"旋转", "位置"});
  CHECK(wrap_text("", 5) == std::vector<std::string>{""});
}

TEST_CASE("rows that are printed one by one are those of the whole table") {
  Table table({{.title = "length", .format = {.style = NumberFormat::Style::count}},
               {.title = "text", .alignment = Column::Alignment::left},
               {.title = "loss", .unit = "nats", .format = {NumberFormat::Style::fixed, 4}}});
  table.add_row({std::int64_t{128}, "unchanged", 3.25});
  table.add_row({std::int64_t{65536}, "8 shuffled blocks of a long name", 12.5});
  for (const std::size_t width : {200, 40}) {
    const TextTableRows rows(table, {.width = width});
    std::string text = rows.head(table);
    for (std::size_t row = 0; row < 2; ++row) text += rows.row(table, row);
    CHECK(text == to_text(table, {.width = width}));
    CHECK(rows.head(table) + rows.rows(table) == text);
  }
}

TEST_CASE("a table that is too wide is continued below itself") {
  CHECK("\n" + to_text(sample(), {.width = 40, .continued = true}) == R"(
scheme         parameters          loss
─────────────  ──────────  ────────────
rope            4,512,345   3.92 ± 0.01
t5|32, "wide"         980  13.90

scheme         speed (tokens/s)
─────────────  ────────────────
rope                     10,250
t5|32, "wide"                 –
)");
  // Narrower than any two columns: a part for each of them.
  const std::string text = to_text(sample(), {.width = 1, .continued = true});
  for (const char* figure : {"4,512,345", "3.92 ± 0.01", "10,250"}) {
    CHECK(text.find(figure) != std::string::npos);
  }
}

TEST_CASE("a table as LaTeX with booktabs") {
  CHECK("\n" + to_latex(sample(), {.title = "A & B", .note = "50 % more."}) == R"(
% needs \usepackage{booktabs}
\begin{table}
\centering
\caption{A \& B}
\begin{tabular}{lrrr}
\toprule
scheme & parameters & loss & speed (tokens/s) \\
\midrule
rope & 4,512,345 & \textbf{3.92 $\pm$ 0.01} & 10,250 \\
t5\textbar{}32, "wide" & 980 & 13.90\phantom{ $\pm$ 0.01} & -- \\
\bottomrule
\end{tabular}

\smallskip
{\footnotesize 50 \% more. Bold: the best of a column.}
\end{table}
)");
}

TEST_CASE("LaTeX takes no word of a table for a command") {
  CHECK(escape_latex("a_b\\c{d}^~#$%&") ==
        "a\\_b\\textbackslash{}c\\{d\\}\\textasciicircum{}\\textasciitilde{}\\#\\$\\%\\&");
  CHECK(escape_latex("--flag --- x") == "-{}-flag -{}-{}- x");
  CHECK(escape_latex("σ ≤ 1…") == "$\\sigma$ $\\leq$ 1\\dots{}");
  CHECK(escape_latex("Größe\x1b[2J") == "Größe?[2J");
  Table table({{.title = "[x]", .alignment = Column::Alignment::left}, {.title = "y"}});
  table.add_row({"[0, 1)", -0.5});
  const std::string latex = to_latex(table);
  CHECK(latex.find("\n{}[0, 1) & $-$0.5 \\\\\n") != std::string::npos);
  CHECK(latex.find("caption") == std::string::npos);
}

TEST_CASE("a table in each form that commands print") {
  const Table table = sample();
  CHECK(formatted(table, "markdown") == to_markdown(table));
  CHECK(formatted(table, "csv") == to_csv(table));
  CHECK(formatted(table, "json") == to_json(table).dump(2) + "\n");
  CHECK(formatted(table, "text") == to_text(table, for_terminal()));
  CHECK(formatted(table, "latex") == to_latex(table));
}
