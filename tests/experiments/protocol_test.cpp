// Protocols (study.version): tables that grow from command to command, and rows of several records
// in one table and on one page.
#include "base/checksums.h"
#include "catch.h"
#include "experiments/difference_table.h"
#include "experiments/made_record.h"
#include "experiments/record.h"
#include "experiments/records_page.h"
#include "fake_program.h"
#include "has.h"
#include "message_of.h"

using namespace roformer;

namespace {

MergedTable merged(const std::vector<std::filesystem::path>& files) {
  std::vector<ProtocolRecord> records;
  for (const auto& file : files) {
    records.push_back(read_protocol_record(read_record(file), file));
  }
  const std::vector<MergedTable> tables = merge_records(records);
  REQUIRE(tables.size() == 1);
  return tables.front();
}

// With t5, which fails, and deberta, which diverges.
struct FailingProtocol : Protocol {
  FailingProtocol() : Protocol("version: 1", "rope, none, t5, deberta") {}
};

std::string text_of(const MergedTable& table) {
  return to_markdown(study_table(table.study, table.rows, TableUse::page));
}

const std::vector<Made> kTwoSchemes{{"rope", "1", 3.1}, {"rope", "2", 3.3}, {"none", "1", 2.5}};

}  // namespace

TEST_CASE("flags of a protocol say what is made, and what was made before stays in its table") {
  const Protocol fake;
  StudyOutcome outcome =
      run_study(fake.load({{"position", "none"}, {"seed", "1"}}), fake_options(fake));
  CHECK(outcome.rows.size() == 1);
  outcome = run_study(fake.load({{"position", "rope"}, {"seed", "1,2"}}), fake_options(fake));
  REQUIRE(outcome.rows.size() == 2);
  CHECK(starts_of(fake, "none-seed1").size() == 1);
  CHECK(starts_of(fake, "none-seed2").empty());
  CHECK(starts_of(fake, "sinusoidal-seed1").empty());
  // A value that the file does not have is one more row.
  outcome = run_study(fake.load({{"position", "kerple"}, {"seed", "1"}}), fake_options(fake));
  REQUIRE(outcome.rows.size() == 3);
  const Table plan = study_plan(fake.load({{"position", "sinusoidal"}, {"seed", "1"}}));
  CHECK(plan.rows().size() == 4);
  CHECK(has(to_csv(plan), "sinusoidal-seed1,not begun"));
  CHECK_FALSE(has(to_csv(plan), "none-seed2"));
}

TEST_CASE("the tuning of a protocol is made for the rows that are asked for") {
  const Protocol fake;
  write_file_atomically(fake.path / "tiny.yaml",
                        read_file(fake.path / "tiny.yaml") +
                            "tune: {values: {training.learning_rate: [1e-3, 2e-3]}, "
                            "with: {seed: 7}}\n");
  run_study(fake.load({{"position", "none"}, {"seed", "1"}}), fake_options(fake));
  CHECK(starts_of(fake, "tuning/none-learning_rate1e-3").size() == 1);
  CHECK(starts_of(fake, "tuning/rope-learning_rate1e-3").empty());
  const StudyOutcome outcome =
      run_study(fake.load({{"position", "rope"}, {"seed", "1"}}), fake_options(fake));
  CHECK(outcome.rows.size() == 2);
  CHECK(outcome.tuning->choices.size() == 2);
  CHECK(starts_of(fake, "tuning/none-learning_rate1e-3").size() == 1);
}

TEST_CASE("a seed that failed or diverged in an earlier command stays in its row") {
  const FailingProtocol fake;
  run_study(fake.load({{"position", "t5,deberta"}, {"seed", "1"}}), fake_options(fake));
  const StudyOutcome outcome =
      run_study(fake.load({{"position", "none"}, {"seed", "1"}}), fake_options(fake));
  CHECK(outcome.failed == 0);
  CHECK(starts_of(fake, "t5-seed1").size() == 1);  // it was not asked for this time
  REQUIRE(outcome.rows.size() == 3);
  CHECK(outcome.rows[0].title() == "none");
  for (const StudyRow& row : outcome.rows) {
    if (row.title() == "t5") CHECK(row.state() == "not finished");
    if (row.title() == "deberta") CHECK(row.state() == "diverged");
  }
}

TEST_CASE("a value of the tuning that diverges has lost, and that is all") {
  const FailingProtocol fake;
  write_file_atomically(fake.path / "tiny.yaml",
                        read_file(fake.path / "tiny.yaml") +
                            "tune: {values: {training.learning_rate: [1e-3, 2e-3]}, "
                            "with: {seed: 7}}\n");
  for (int time = 0; time < 2; ++time) {
    const StudyOutcome outcome =
        run_study(fake.load({{"position", "deberta,none"}, {"seed", "1"}}), fake_options(fake));
    CHECK(outcome.failed + outcome.failed_trials == 0);
    CHECK(outcome.rows.size() == 2);
    CHECK(starts_of(fake, "tuning/deberta-learning_rate1e-3").size() == 1);
    CHECK(starts_of(fake, "deberta-seed1").empty());  // nothing was chosen for it
  }
  const StudyOutcome other =
      run_study(fake.load({{"position", "rope"}, {"seed", "1"}}), fake_options(fake));
  CHECK(other.rows.size() == 3);
}

TEST_CASE("a formula is a value of the axis of schemes") {
  const Protocol fake;
  const StudySettings study = fake.load({{"position.formula", "-0.1 * abs(i - j)"}, {"seed", "1"}});
  CHECK(study.axes.front().values.size() == 5);
  CHECK(std::ranges::count_if(study.runs, &StudyRun::asked) == 1);
  CHECK(std::ranges::find_if(study.runs, &StudyRun::asked)->settings.position.scheme == "formula");
}

TEST_CASE("a row of one seed has no rank, no p-value and is never the best") {
  MadeRecord record;
  const MergedTable table = merged({record.write(kTwoSchemes)});
  const Table results = study_table(table.study, table.rows, TableUse::page);
  REQUIRE(results.columns()[1].title == "rank");
  CHECK(results.text(0, 0) == "rope");
  CHECK(results.text(0, 1) == "1");
  CHECK(results.text(0, 2) == "2");
  CHECK(results.text(1, 0) == "none");  // although its loss is lower
  CHECK(results.text(1, 1) == "–");
  CHECK(results.text(1, 2) == "1");
  CHECK(results.text(1, 3) == "2.500");
  CHECK_FALSE(results.is_best(1, 3));
  CHECK(difference_table(table.study, table.rows).rows().empty());
}

TEST_CASE("rows of several records of one protocol stand in one table") {
  MadeRecord here, there;
  const auto first = here.write(kTwoSchemes);
  const auto second = there.write({{"none", "2", 2.7}, {"sinusoidal", "1", 2.9}});
  const MergedTable table = merged({first, second});
  CHECK(table.apart.empty());
  CHECK(text_of(table) ==
        "| position | rank | seeds | validation loss | parameters |\n"
        "|---|---:|---:|---:|---:|\n"
        "| none | 1 | 2 | **2.600 ± 0.141** | 1,000 |\n"
        "| rope | 2 | 2 | 3.200 ± 0.141 | 1,000 |\n"
        "| sinusoidal | – | 1 | 2.900 | 1,000 |\n");
  CHECK(table.families.at("none") == "none");
  const Table differences = difference_table(table.study, table.rows);
  REQUIRE(differences.rows().size() == 1);
  CHECK(differences.text(0, 0) == "none");
  CHECK(differences.text(0, 2) == "2");
  // The same run twice counts once, and that is said.
  const MergedTable twice = merged({first, first});
  CHECK(text_of(twice) == text_of(merged({first})));
  REQUIRE(twice.apart.size() == 3);
  CHECK(has(twice.apart.front().reason, "counted once"));
}

TEST_CASE("a row that another machine made is marked with it and still compared") {
  MadeRecord here, there;
  there.machine["processor"] = "another chip";
  const MergedTable table =
      merged({here.write(kTwoSchemes), there.write({{"none", "1", 2.6}, {"none", "2", 2.7}})});
  CHECK(table.apart.empty());
  REQUIRE(table.rows.size() == 3);
  CHECK(table.rows[0].title() == "none [another chip, 2 cores, threads 1]");
  CHECK(difference_table(table.study, table.rows).text(0, 0) == table.rows[0].title());
}

TEST_CASE("rows whose attention made its gradient in another way do not compare") {
  const nlohmann::json exact = {{"forward", "tiles"}, {"gradient", "exact"}, {"sums", "fp32"}};
  const nlohmann::json fast = {{"forward", "cudnn"}, {"gradient", "fast"}, {"sums", "fp32"}};
  const auto with = [](const nlohmann::json& here, const nlohmann::json& there) {
    MadeRecord first, second;
    first.attention = here;
    second.attention = there;
    return merged({first.write(kTwoSchemes), second.write({{"sinusoidal", "1", 2.9}})});
  };
  CHECK(with(exact, exact).apart.empty());
  CHECK(attention_sentence(with(exact, exact).rows).empty());
  const MergedTable unequal = with(exact, fast);
  REQUIRE(unequal.apart.size() == 1);
  CHECK(unequal.apart.front().reason == "gradient of attention fast, here exact");
  // Older records do not say it: their rows stay, and are marked beside those that do.
  const MergedTable old = with(exact, {});
  CHECK(old.apart.empty());
  CHECK(attention_sentence(old.rows) ==
        " The gradient of attention (training.attention_gradient) is exact in rope, none, not "
        "recorded in sinusoidal: these do not compare.");
  CHECK(attention_sentence(with({}, {}).rows).empty());
  CHECK(has(to_csv(provenance_table(with(exact, {}).rows)), "gradient of attention,exact"));
}

TEST_CASE("processors of one name are told apart by their model, where both records have it") {
  const auto rows = [](const std::string& first, const std::string& second) {
    MadeRecord here, there;
    here.machine["processor"] = first;
    there.machine["processor"] = second;
    return merged({here.write({{"none", "1", 2.6}}), there.write({{"none", "2", 2.7}})})
        .rows.size();
  };
  CHECK(rows("a chip (family 25, model 17)", "a chip (family 25, model 17)") == 1);
  CHECK(rows("a chip (family 25, model 17)", "a chip (family 26, model 2)") == 2);
  CHECK(rows("a chip", "a chip (family 26, model 2)") == 1);
  CHECK(rows("another chip", "a chip (family 26, model 2)") == 2);
}

TEST_CASE("a merged table keeps what failed, what was chosen and whose times they are apart") {
  MadeRecord here, there;
  there.machine["processor"] = "another chip";
  const auto rewritten = [](const std::filesystem::path& file, const auto& change) {
    nlohmann::json record = read_record(file);
    change(record);
    write_checksummed_json(file, record);
    return file;
  };
  const auto first = rewritten(here.write(kTwoSchemes), [](nlohmann::json& record) {
    record["protocol"]["tuned"] = {"training.learning_rate"};
    record["protocol"]["columns"] = {"milliseconds_per_step"};
    record["runs"][0]["chosen"] = {"1e-3"};
    record["runs"][1]["chosen"] = {"2e-3"};
    record["runs"][2]["chosen"] = {"1e-3"};
    for (auto& run : record["runs"]) run["figures"]["milliseconds_per_step"] = 20;
    record["runs"][1]["figures"]["validation_loss"] = nullptr;  // not finite
    record["runs"][2]["state"] = "diverged";
    record["runs"][2]["remark"] = "the loss is nan";
  });
  const MergedTable alone = merged({first});
  CHECK(alone.apart.empty());
  const std::string text = text_of(alone);
  CHECK(has(text, "| rope | – | 1 | 1e-3, 2e-3 | 3.100 (1 of 2) |"));
  CHECK(has(text, "| none | – | 0 | 1e-3 | – | – | diverged |"));
  const auto second = rewritten(there.write({{"sinusoidal", "1", 2.9}, {"sinusoidal", "2", 2.9}}),
                                [](nlohmann::json& record) {
                                  for (auto& run : record["runs"])
                                    run["figures"]["milliseconds_per_step"] = 10;
                                });
  const MergedTable both = merged({first, second});
  const Table table = study_table(both.study, both.rows, TableUse::page);
  for (std::size_t column = 0; column < table.columns().size(); ++column) {
    if (table.columns()[column].key != "milliseconds_per_step") continue;
    for (std::size_t row = 0; row < table.rows().size(); ++row) {
      CHECK_FALSE(table.is_best(row, column));
    }
  }
}

TEST_CASE("what one record has not finished and another has is finished") {
  MadeRecord here, there;
  const auto first = here.write({{"rope", "1", 3.1}, {"rope", "2", 3.3}, {"none", "1", 2.5}});
  nlohmann::json record = read_record(first);
  record["runs"][1]["state"] = "diverged";
  record["runs"][1]["remark"] = "the loss is nan";
  record["runs"][2]["state"] = "failed";
  // One that could not be begun has no machine.
  nlohmann::json refused = record["runs"][2];
  refused["name"] = "cope-seed1", refused["values"] = {"cope", "1"},
  refused["state"] = "cannot be run";
  refused.erase("making");
  record["runs"].push_back(refused);
  write_checksummed_json(first, record);
  const MergedTable table =
      merged({first, there.write({{"rope", "2", 3.2}, {"none", "1", 2.6}, {"none", "2", 2.7}})});
  std::vector<std::string> titles;
  for (const StudyRow& row : table.rows) titles.push_back(row.title() + ": " + row.state());
  CHECK(titles ==
        std::vector<std::string>{"none: finished", "rope: finished", "cope: cannot be run"});
  // The failure is made good, the divergence is told all the same.
  REQUIRE(table.apart.size() == 1);
  CHECK(table.apart[0].reason == "diverged: the loss is nan; another record has it finished");
}

TEST_CASE("what does not compare is listed with its reason") {
  MadeRecord here;
  const auto first = here.write(kTwoSchemes);
  const auto reason = [&](MadeRecord other) {
    const auto file = other.write({{"sinusoidal", "1", 2}});
    const MergedTable table = merged({first, file});
    REQUIRE(table.rows.size() == 2);
    REQUIRE(table.apart.size() == 1);
    CHECK(has(to_markdown(apart_table(table)), "sinusoidal-seed1"));
    return table.apart.front().reason;
  };
  CHECK(reason(MadeRecord("version: 2")) == "protocol version 2, here 1");
  CHECK(reason(MadeRecord("version: 1", {{"training.steps", "7"}})) ==
        "training.steps 7, here 100");
  MadeRecord data;
  data.data["fingerprint"] = "beef";
  const auto file = data.write({{"sinusoidal", "1", 2}});
  CHECK(merged({first, file}).apart.front().reason == "data beef, here f00d");
  // The same scheme with other options is another row.
  MadeRecord options("version: 1", {{"position.rope.base", "500"}});
  const MergedTable table = merged({first, options.write({{"rope", "1", 2}})});
  REQUIRE(table.apart.size() == 1);
  CHECK(has(table.apart.front().reason, "another rope: position.rope.base 500"));
}

TEST_CASE("the page has the numbers of its records, filters, and nothing from elsewhere") {
  MadeRecord record("version: 1, name: '<b>'");
  const auto file = record.write(kTwoSchemes);
  const Origin origin{.command = "roformer <page>", .version = "1", .commit = "abc"};
  const std::string page = records_page({file}, origin);
  CHECK(has(page, "3.200"));
  CHECK(has(page, "0.141"));
  CHECK(has(page, "2.500"));
  CHECK(has(page, "data-filter=\"task\" data-value=\"masked language model\""));
  CHECK(has(page, "data-key=\"validation_loss\""));
  CHECK(has(page, "roformer study &lt;tiny&gt;"));
  CHECK(has(page, "a chip"));
  CHECK_FALSE(has(page, "<tiny>"));
  CHECK_FALSE(has(page, "<b>'"));
  CHECK_FALSE(has(page, "src="));
  CHECK_FALSE(has(page, "<link"));
  CHECK_FALSE(has(page, "@import"));
  nlohmann::ordered_json other = nlohmann::ordered_json::parse(read_file(file));
  other.erase("protocol");
  other.erase("checksum");
  write_checksummed_json(record.path / "other.json", other);
  CHECK(has(message_of([&] { records_page({file, file}, origin); }), "is given twice"));
  CHECK(has(merged_tables({file}).front().title, " version 1, a masked language model"));
  // A record of another study has its own section.
  CHECK(has(records_page({record.path / "other.json"}, origin), "&lt;b&gt;</h2>"));
  CHECK(has(message_of([&] { merged_tables({record.path / "other.json"}); }),
            "none of the records is of a protocol"));
  other["protocol"] = 3;
  write_checksummed_json(record.path / "other.json", other);
  CHECK(has(message_of([&] { merged_tables({record.path / "other.json"}); }),
            "is no record of a protocol that was stored"));
}

TEST_CASE("a row of one seed is words for people and numbers for programs") {
  MadeRecord record;
  const auto file = record.write({{"rope", "1", 3.125}});
  const auto numbers = [&](TableUse use) {
    const Table table = merged_tables({file}, use).front().table;
    return std::ranges::count_if(table.rows().front(), [](const Cell& cell) {
      const auto* number = std::get_if<double>(&cell);
      const auto* several = std::get_if<MeanAndDeviation>(&cell);
      return (number != nullptr && *number == 3.125) ||
             (several != nullptr && several->mean == 3.125);
    });
  };
  CHECK(numbers(TableUse::document) == 0);
  CHECK(numbers(TableUse::data) == 1);
}
