// The tables of the repository's Markdown files: one that stands below a line
//   <!-- record: PATH -->  or  <!-- record: PATH TABLE -->
// (PATH from the file's folder, TABLE a name where not the first is meant) is the rendering of that
// record, byte for byte: `roformer study --render PATH --table TABLE`. With chart:NAME for TABLE
// the line below is a picture, ![words](FILE.svg), and that file is the drawing of the record's
// chart: `roformer study --render PATH --chart NAME > FILE.svg`. Below a line
//   <!-- merged: PATH PATH ... -->  or  <!-- merged: PATH PATH ... differences -->
// stands the table of several records of one protocol, or their differences: `roformer study
// --merge PATH PATH ... --table results --format markdown`. A table with a column of figures that
// has no record was copied by hand, unless a line <!-- computed: FROM WHAT --> stands above.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "experiments/record.h"
#include "experiments/records_page.h"
#include "experiments/stored_chart.h"
#include "experiments/stored_table.h"
#include "has.h"
#include "made_record.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

struct CheckedTables {
  int count = 0;
  std::string breaches;  // one a line
};

std::string rendering(const fs::path& record, const std::string& table) {
  try {
    return to_markdown(recorded_table(record, table));
  } catch (const Error& error) {
    return error.what();
  }
}

// `words`: paths from the folder, one space between them, and the name of a table where that is not
// the results.
std::string merged_rendering(const fs::path& folder, const std::string& words) {
  std::vector<fs::path> records;
  std::string wanted = "results";
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ' ');) {
    if (word.ends_with(".json")) {
      records.push_back(folder / word);
    } else {
      wanted = word;
    }
  }
  try {
    for (const TitledTable& titled : merged_tables(records)) {
      if (titled.name == wanted) return to_markdown(titled.table);
    }
    return "no table " + wanted;
  } catch (const Error& error) {
    return error.what();
  }
}

// The complaint about a picture that is not its record's chart; "" where it is.
std::string picture_breach(const fs::path& folder, const std::string& line, const fs::path& record,
                           const std::string& chart) {
  static const std::regex picture(R"re(^!\[[^\]]+\]\((\S+\.svg)\)$)re");
  std::smatch match;
  if (!std::regex_match(line, match, picture)) return "no picture ![words](FILE.svg) below";
  try {
    return read_file(folder / match[1].str()) == recorded_chart(record, chart)
               ? ""
               : match[1].str() + " is not the record's chart " + chart;
  } catch (const Error& error) {
    return error.what();
  }
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line.substr(1, line.rfind('|') - 1));
  for (std::string cell; std::getline(text, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' ');
    cells.push_back(begin == std::string::npos
                        ? ""
                        : cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
  }
  return cells;
}

// Whether a column of a table [rows][columns] holds figures, and gaps, alone.
bool has_figures(const std::vector<std::vector<std::string>>& rows) {
  static const std::regex figure(
      R"(^[-+*]*\d[\d,.]*( ± \d[\d,.]*)?( ?(%|ms|s|minutes|hours|MiB|MB|GiB|GB|kB))?\**$)");
  static const std::regex gap("^(|-|–|not measured)$");
  for (std::size_t c = 0; !rows.empty() && c < rows[0].size(); ++c) {
    int figures = 0, gaps = 0;
    for (const auto& row : rows) {
      if (c >= row.size()) continue;
      figures += std::regex_match(row[c], figure);
      gaps += std::regex_match(row[c], gap);
    }
    if (figures > 1 && figures + gaps == static_cast<int>(rows.size())) return true;
  }
  return false;
}

// Above a table whose figures stand in the page that the row links to.
constexpr const char* kQuoted = "<!-- quoted -->";

// The figures with a point in a row of such a table that no page linked in the row has.
std::string unquoted(const fs::path& folder, const std::string& row) {
  static const std::regex link(R"(\]\(([^)#\s]+\.md))"), figure(R"(\d+\.\d+)");
  std::string linked;
  for (std::sregex_iterator match(row.begin(), row.end(), link), end; match != end; ++match) {
    linked += read_file(folder / (*match)[1].str());
  }
  std::string missing;
  for (std::sregex_iterator match(row.begin(), row.end(), figure), end; match != end; ++match) {
    // Not a part of a longer figure.
    if (!std::regex_search(linked, std::regex("(^|[^\\d.])" + match->str() + "(?!\\d)"))) {
      missing += " " + match->str();
    }
  }
  return missing;
}

// The tables of figures of a file that say neither what record nor what computation they are from.
void check_origins(const fs::path& file, CheckedTables& checked) {
  std::istringstream text(read_file(file));
  std::string line, above, before;  // of the table: the last line that is not empty
  std::vector<std::vector<std::string>> rows;
  int number = 0;
  const auto end_table = [&] {
    if (rows.size() > 2 && !above.starts_with("<!-- record:") &&
        !above.starts_with("<!-- merged:") && !above.starts_with("<!-- computed:") &&
        above != kQuoted && has_figures({rows.begin() + 2, rows.end()})) {
      checked.breaches += file.string() + ":" + std::to_string(number - std::ssize(rows)) +
                          ": a table of figures without a record\n";
    }
    rows.clear();
  };
  while (++number, std::getline(text, line)) {
    if (line.starts_with("|")) {
      if (rows.empty()) above = before;
      rows.push_back(cells_of(line));
      const std::string missing = above == kQuoted ? unquoted(file.parent_path(), line) : "";
      if (!missing.empty()) {
        checked.breaches += file.string() + ":" + std::to_string(number) +
                            ": not in a page that the row links to:" + missing + "\n";
      }
      continue;
    }
    end_table();
    if (!line.empty()) before = line;
  }
  end_table();
}

void check_tables(const fs::path& file, CheckedTables& checked) {
  static const std::regex marker("^<!-- record: (\\S+)( (\\S+))? -->$");
  static const std::regex merged("^<!-- merged: (\\S+( \\S+)*) -->$");
  std::istringstream text(read_file(file));
  std::string line;
  int number = 0;
  const auto next = [&] { return ++number, bool(std::getline(text, line)); };
  for (bool more = next(); more;) {
    std::smatch match;
    const std::string marked = line;
    const bool of_one = std::regex_match(marked, match, marker);
    const bool told = of_one || std::regex_match(marked, match, merged);
    if (!told && (marked.starts_with("<!-- record:") || marked.starts_with("<!-- merged:"))) {
      checked.breaches += file.string() + ": not understood: " + marked + "\n";
    }
    more = next();
    if (!told) continue;
    ++checked.count;
    const int first = number;
    const std::string wanted = of_one ? match[3].str() : "";
    if (wanted.starts_with("chart:")) {
      const std::string breach =
          picture_breach(file.parent_path(), line, file.parent_path() / match[1].str(),
                         wanted.substr(wanted.find(':') + 1));
      if (breach.empty()) continue;
      checked.breaches += file.string() + ":" + std::to_string(first) + ": " + breach + "\n";
      continue;
    }
    std::string table;
    for (; more && line.starts_with("|"); more = next()) table += line + "\n";
    const fs::path folder = file.parent_path();
    const std::string expected =
        of_one ? rendering(folder / match[1].str(), wanted) : merged_rendering(folder, match[1]);
    if (table == expected) continue;
    checked.breaches += file.string() + ":" + std::to_string(first) + ": the record " +
                        match[1].str() + " gives\n" + expected;
  }
}

// Below the folders that are the project's; builds and runs lie in others.
std::vector<fs::path> markdown_files(const fs::path& source) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file() && entry.path().extension() == ".md") files.push_back(entry.path());
  };
  for (const auto& entry : fs::directory_iterator(source)) add(entry);
  for (const char* folder : {"configs", "data", "docs", "scripts", "src", "tests"}) {
    if (!fs::exists(source / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(source / folder)) add(entry);
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("a table with a record is told from one that differs from it in a byte") {
  const TemporaryFolder folder;
  Table table({{.title = "row", .alignment = Column::Alignment::left}, {.title = "loss"}});
  table.add_row({"rope", 0.5});
  nlohmann::ordered_json entry = stored_table(table);
  entry["name"] = "results";
  const StudyChart dots = DotChart{.dots = {{.name = "rope", .value = 1}}};
  nlohmann::ordered_json chart = stored_chart(dots);
  chart["name"] = "figures";
  write_checksummed_json(folder.path / "r.json",
                         {{"format", "roformer study record"},
                          {"version", 1},
                          {"tables", nlohmann::ordered_json::array({entry})},
                          {"charts", nlohmann::ordered_json::array({chart})}});
  const auto breaches = [&](const std::string& text, int count) {
    write_file_atomically(folder.path / "README.md", text);
    CheckedTables checked;
    check_tables(folder.path / "README.md", checked);
    CHECK(checked.count == count);
    return checked.breaches;
  };
  const std::string good = to_markdown(table);
  CHECK(breaches("# A\n\n| any |\n", 0).empty());
  CHECK(breaches("<!-- record: r.json -->\n" + good, 1).empty());
  CHECK(breaches("<!-- record: r.json results -->\n" + good + "\nWords.\n", 1).empty());
  CHECK(
      breaches("<!-- record: r.json -->\n" + good + "<!-- record: r.json -->\n" + good, 2).empty());
  std::string other = good;
  other.replace(other.find("0.5"), 3, "0.6");
  CHECK(has(breaches("<!-- record: r.json -->\n" + other, 1), "README.md:2: the record r.json"));
  CHECK_FALSE(breaches("<!-- record: r.json -->\n" + good + "| none | 0.4 |\n", 1).empty());
  CHECK_FALSE(breaches("<!-- record: r.json -->\n\n" + good, 1).empty());
  CHECK(has(breaches("<!-- record: gone.json -->\n" + good, 1), "gone.json"));
  CHECK(has(breaches("<!-- record: r.json lengths -->\n" + good, 1), "has no table"));
  const std::string pictured = "<!-- record: r.json chart:figures -->\n![Dots](dots.svg)\n";
  CHECK(has(breaches(pictured, 1), "dots.svg"));
  write_file_atomically(folder.path / "dots.svg", to_svg(dots));
  CHECK(breaches(pictured, 1).empty());
  write_file_atomically(folder.path / "dots.svg", to_svg(dots) + " ");
  CHECK(has(breaches(pictured, 1), "is not the record's chart figures"));
  CHECK(has(breaches("<!-- record: r.json chart:figures -->\nWords\n", 1), "no picture"));
  CHECK(has(breaches("<!-- record: -->\n" + good, 0), "not understood"));
}

TEST_CASE("a table of several records is told from one that they do not give together") {
  MadeRecord first, second;
  first.write({{"rope", "1", 3.1}, {"none", "1", 4.5}});
  second.write({{"sinusoidal", "1", 3.3}});
  const auto breaches = [&](const std::string& text) {
    write_file_atomically(first.path / "README.md", text);
    CheckedTables checked;
    check_tables(first.path / "README.md", checked);
    check_origins(first.path / "README.md", checked);
    return checked.breaches;
  };
  const auto tables = merged_tables({first.file, second.file});
  const std::string both = to_markdown(tables.front().table);
  CHECK(has(both, "sinusoidal"));
  const std::string marker =
      "<!-- merged: " + first.file.string() + " " + second.file.string() + " -->\n";
  CHECK(breaches(marker + both).empty());
  CHECK_FALSE(breaches("<!-- merged: " + first.file.string() + " -->\n" + both).empty());
  CHECK(has(breaches("<!-- merged: -->\n" + both), "not understood"));
  CHECK(has(breaches("<!-- merged: gone.json -->\n" + both), "gone.json"));

  MadeRecord more, others;
  more.write({{"rope", "1", 3.1}, {"none", "1", 4.5}});
  others.write({{"rope", "2", 3.2}, {"none", "2", 4.4}});
  std::string differences;
  for (const TitledTable& titled : merged_tables({more.file, others.file})) {
    if (titled.name == "differences") differences = to_markdown(titled.table);
  }
  REQUIRE(has(differences, "| none | rope | 2 | 1.300 |"));
  const std::string of_both =
      "<!-- merged: " + more.file.string() + " " + others.file.string() + " differences -->\n";
  CHECK(breaches(of_both + differences).empty());
  CHECK_FALSE(breaches(of_both + both).empty());
}

TEST_CASE("a table of figures says where they are from") {
  const TemporaryFolder folder;
  const auto breaches = [&](const std::string& text) {
    write_file_atomically(folder.path / "README.md", text);
    CheckedTables checked;
    check_origins(folder.path / "README.md", checked);
    return checked.breaches;
  };
  const std::string figures =
      "| scheme | loss |\n|---|---:|\n| rope | **2.25** |\n| t5 | 2.5 % |\n";
  CHECK(has(breaches("# A\n\n" + figures), "README.md:3: a table of figures without a record"));
  CHECK(has(breaches(figures + "\nWords.\n"), "README.md:1"));
  CHECK(breaches("<!-- record: r.json -->\n" + figures).empty());
  CHECK(breaches("<!-- computed: the formula above -->\n\n" + figures).empty());
  write_file_atomically(folder.path / "page.md", "It took 12.25 s.");
  const std::string quoted = "<!-- quoted -->\n| work | s |\n|---|---|\n";
  CHECK(breaches(quoted + "| a, [page](page.md#times) | 12.25 |\n").empty());
  CHECK(has(breaches(quoted + "| a, [page](page.md) | 2.25 |\n"), "README.md:4: not in a page"));
  CHECK(breaches("| year | who |\n|---|---|\n| 2020 (KERPLE) | x |\n| a | b |\n").empty());
  CHECK_FALSE(
      breaches("| a | MiB |\n|---|---|\n| x | 1,024 |\n| y | 7 |\n| z | not measured |\n").empty());
}

TEST_CASE("tables of the repository that have a record are its rendering") {
  const std::vector<fs::path> files = markdown_files(fs::path(CONFIGS).parent_path());
  REQUIRE_FALSE(files.empty());
  CheckedTables checked;
  for (const fs::path& file : files) {
    check_tables(file, checked);
    const bool results = file.parent_path().filename() == "results";
    if (results || file.filename() == "README.md") check_origins(file, checked);
  }
  INFO(checked.breaches);
  CHECK(checked.breaches.empty());
}
