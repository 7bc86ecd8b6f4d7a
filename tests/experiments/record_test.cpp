// Records of studies: what they hold, and that a table comes out of one as it went in.
#include "experiments/record.h"

#include <cmath>
#include <limits>

#include "base/checksummed_json.h"
#include "base/json.h"
#include "catch.h"
#include "experiments/fake_study.h"
#include "experiments/finished_run.h"
#include "experiments/stored_chart.h"
#include "experiments/stored_table.h"
#include "experiments/study_rows.h"
#include "has.h"
#include "message_of.h"

using namespace roformer;

namespace {

Table every_kind_of_cell() {
  using Limits = std::numeric_limits<double>;
  using Style = NumberFormat::Style;
  Table table(
      {{.title = "row | name", .key = "row", .alignment = Column::Alignment::left},
       {.title = "loss", .unit = "nats", .format = {Style::fixed, 3}, .best = Column::Best::lowest},
       {.title = "share",
        .unit = "%",
        .alignment = Column::Alignment::center,
        .format = {Style::percent, 1},
        .best = Column::Best::highest},
       {.title = "tokens", .format = {Style::count}},
       {.title = "rate", .format = {Style::scientific, 1}}});
  const auto add = [&](Cell a, Cell b, Cell c, Cell d, Cell e) {
    table.add_row({std::move(a), std::move(b), std::move(c), std::move(d), std::move(e)});
  };
  add("rope", MeanAndDeviation{0.1 + 0.2, 1.0 / 3, 3}, 0.25, std::int64_t{1234567}, 1e-5);
  add("none", MeanAndDeviation{4.0, 0, 1}, 1.0, std::int64_t{-3}, Limits::infinity());
  add("t5, a \"long\" one\nin two lines", "4.5 (1 of 3)", Limits::quiet_NaN(), std::monostate(),
      -Limits::infinity());
  add("3", MeanAndDeviation{Limits::quiet_NaN(), Limits::infinity(), 2}, 3e17, 2.0, 0.0);
  return table;
}

Table read_again(const Table& table) {
  return read_stored_table(parse_json(stored_table(table).dump(), "table"), "table");
}

// A study of two positions and two seeds, and what its runs are said to have come to.
struct RecordedStudy : FakeStudy {
  StudySettings study;
  StudyResults outcome;
  std::filesystem::path record = path / "record.json";
  Origin origin{.command = "roformer study tiny.yaml", .version = "1", .commit = "abc"};

  RecordedStudy() : FakeStudy("none, rope"), study(load({{"seed", "1,2"}})) {
    std::vector<RunResult> results{finished_run("none", "1", 4.1), finished_run("none", "2", 4.4),
                                   finished_run("rope", "1", 3.1), finished_run("rope", "2", 3.3)};
    for (RunResult& result : results) {
      result.record = {{"commit", "abc"},
                       {"libtorch", "2.11.0"},
                       {"precision", "bf16"},
                       {"started", "2026-01-02T03:04:05Z"},
                       {"command", "roformer train /home/me/tiny.yaml"},
                       {"machine", {{"processor", "a chip"}, {"cores", 2}, {"host", "mine"}}},
                       {"data", {{"folder", "/home/me/data"}, {"fingerprint", "f00d"}}}};
    }
    results.back().record["machine"]["processor"] = "another chip";
    outcome.rows = study_rows(study, results);
  }
  void write() const { write_study_record(record, path / "tiny.yaml", study, outcome, origin); }
  nlohmann::json read() const { return read_checksummed_json(record); }
};

}  // namespace

TEST_CASE("a table that is stored and read again renders the same") {
  const Table table = every_kind_of_cell();
  const Table again = read_again(table);
  CHECK(to_markdown(again) == to_markdown(table));
  CHECK(to_text(again) == to_text(table));
  CHECK(to_csv(again) == to_csv(table));
  CHECK(to_json(again) == to_json(table));
}

TEST_CASE("a chart that is stored and read again draws the same") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LineChart lines{
      .title = "a < b",
      .subtitle = "c",
      .x = {.title = "x", .unit = "s", .scale = Axis::Scale::logarithmic, .ticks = {1, 4}},
      .y = {.title = "y", .minimum = 0.1},
      .series = {{.name = "rope", .x = {1, 2}, .y = {1.0 / 3, nan}, .low = {0, 1}, .high = {1, 2}}},
      .context = {{.name = "none", .x = {1}, .y = {5}}},
      .references = {{.value = 2, .label = "here"}},
      .markers = LineChart::Markers::always};
  const DotChart dots{.title = "d",
                      .dots = {{.name = "rope",
                                .value = 0.1 + 0.2,
                                .low = 0.2,
                                .high = 0.4,
                                .parts = {0.3},
                                .group = "g"},
                               {.name = "none", .value = nan, .label = "none"}},
                      .value = {.title = "v"},
                      .format = {NumberFormat::Style::fixed, 3},
                      .references = {{.value = 1, .label = "unigram"}}};
  for (const StudyChart& chart :
       {StudyChart(lines), StudyChart(dots),
        StudyChart(LineChartGrid{.title = "g", .panels = {lines, lines}})}) {
    const nlohmann::json stored = parse_json(stored_chart(chart).dump(), "chart");
    CHECK(to_svg(read_stored_chart(stored, "r.json")) == to_svg(chart));
  }
  nlohmann::json bad = stored_chart(lines);
  bad["series"][0]["y"] = {1};
  CHECK(has(message_of([&] { read_stored_chart(bad, "r.json"); }),
            "r.json: \"series[0].y\" is a list of 1, wanted as many values as x"));
  bad = stored_chart(dots);
  bad["kind"] = "pie";
  CHECK(has(message_of([&] { read_stored_chart(bad, "r.json"); }),
            "wanted one of lines, panels, dots"));
}

TEST_CASE("the charts of a record are the study's, without its file and its runs") {
  const RecordedStudy fake;
  fake.write();
  const std::vector<NamedChart> charts = study_charts(fake.study, fake.outcome);
  REQUIRE(charts.size() == 2);
  CHECK(recorded_chart(fake.record, "curves") == to_svg(charts[0].chart));
  CHECK(recorded_chart(fake.record, "figures") == to_svg(charts[1].chart));
  CHECK(message_of([&] { recorded_chart(fake.record, "lengths"); }) ==
        fake.record.string() + ": has no chart \"lengths\" (hint: it has curves, figures)");
}

TEST_CASE("a stored table that is not one is refused with what was wanted") {
  const nlohmann::json good = stored_table(every_kind_of_cell());
  const auto message = [&](const char* place, nlohmann::json value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(place)] = std::move(value);
    return message_of([&] { read_stored_table(bad, "r.json"); });
  };
  CHECK(message("/columns", 3) == "r.json: \"columns\" is 3, wanted a list");
  CHECK(message("/rows/0", {1, 2}) ==
        "r.json: \"rows[0]\" is a list of 2, wanted a row of 5 columns");
  CHECK(message("/columns/1/digits", 100000) ==
        "r.json: \"columns[1].digits\" is 100000, wanted an integer from 0 to 17");
  CHECK(has(message("/columns/1/best", "worst"),
            "\"columns[1].best\" is \"worst\", wanted one of none, lowest, highest"));
  CHECK(message("/rows/0/1", true) == "r.json: \"rows[0][1]\" is true, wanted an object");
  CHECK(has(message("/rows/0/1/count", 1ULL << 63), "wanted an integer"));
  CHECK(has(message("/rows/0/1/mean", "much"), "\"rows[0][1].mean\" is \"much\", wanted a number"));
}

TEST_CASE("a record holds where its table comes from and nothing of the machine's folders") {
  const RecordedStudy fake;
  std::filesystem::create_directories(fake.path / ".git");
  fake.write();
  const nlohmann::json record = fake.read();
  CHECK(record["format"] == "roformer study record");
  CHECK(record["file"] == "tiny.yaml");
  CHECK(record["command"] == "roformer study tiny.yaml");
  CHECK(record["program"] == nlohmann::json{{"version", "1"}, {"commit", "abc"}});
  CHECK(record["settings_fingerprint"] == settings_fingerprint(fake.study));
  REQUIRE(record["makings"].size() == 2);
  CHECK(record["makings"][0]["machine"]["processor"] !=
        record["makings"][1]["machine"]["processor"]);
  CHECK(record["makings"][0]["data"] == nlohmann::json{{"fingerprint", "f00d"}});
  REQUIRE(record["runs"].size() == 4);
  CHECK(record["runs"][0]["name"] == "rope-seed1");
  CHECK(record["runs"][0]["seed"] == 1);
  CHECK(record["runs"][0]["making"] == 0);
  CHECK(record["runs"][1]["making"] == 1);
  CHECK(record["runs"][3]["figures"]["validation_loss"] == 4.4);
  CHECK_FALSE(has(read_file(fake.record), "/home/me"));
  CHECK_FALSE(has(read_file(fake.record), "mine"));
  CHECK_FALSE(has(read_file(fake.record), fake.path.string()));
}

TEST_CASE("the table of a record is the study's, without its file and its runs") {
  const RecordedStudy fake;
  fake.write();
  std::filesystem::remove(fake.path / "tiny.yaml");
  const std::string expected =
      to_markdown(study_table(fake.study, fake.outcome.rows, TableUse::document));
  CHECK(has(expected, "3.200 ± 0.141"));
  CHECK(to_markdown(recorded_table(fake.record)) == expected);
  CHECK(to_markdown(recorded_table(fake.record, "results")) == expected);
  CHECK(recorded_table(fake.record, "differences").rows().size() == 1);
  CHECK(message_of([&] { recorded_table(fake.record, "lengths"); }) ==
        fake.record.string() + ": has no table \"lengths\" (hint: it has results, differences)");
}

TEST_CASE("the fingerprint of a study tells its settings and not its folder") {
  const RecordedStudy fake;
  const RecordedStudy elsewhere;
  CHECK(settings_fingerprint(fake.study) == settings_fingerprint(elsewhere.study));
  CHECK(settings_fingerprint(fake.study) !=
        settings_fingerprint(fake.load({{"seed", "1,2"}, {"training.steps", "101"}})));
}

TEST_CASE("a record that is damaged or was edited is refused in one line") {
  const RecordedStudy fake;
  fake.write();
  const std::string good = read_file(fake.record);
  const auto message = [&](const std::string& text) {
    write_file_atomically(fake.record, text);
    std::string said = message_of([&] { recorded_table(fake.record); });
    CHECK_FALSE(has(said, "\n"));
    return said;
  };
  const auto replaced = [&](const std::string& before, const std::string& after) {
    std::string text = good;
    return text.replace(text.find(before), before.size(), after);
  };
  CHECK(has(message(replaced("4.4", "4.3")), "contents do not fit their checksum"));
  CHECK(has(message(good.substr(0, good.size() / 2)), "is not JSON from line"));
  CHECK(has(message(replaced("\"checksum\"", "\"weight\"")), "has lost its checksum"));
  CHECK(has(message(replaced("\"version\": 1", "\"version\": 2")), "has the version 2"));
  CHECK(has(message("{\"format\": 3}"), "is no record of a study"));
  CHECK(has(message("[]"), "is no record of a study"));
  CHECK(has(message(checksummed_text({{"format", "roformer study record"}, {"version", 1}})),
            "is a record without tables"));
}
