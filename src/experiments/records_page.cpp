#include "experiments/records_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/difference_table.h"
#include "experiments/length_report.h"
#include "experiments/record.h"
#include "experiments/run_result.h"
#include "experiments/stored_chart.h"
#include "experiments/stored_table.h"
#include "experiments/study_results.h"
#include "report/html.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using Run = ProtocolRecord::Run;

// Puts the runs of one protocol together.
class Merger {
 public:
  explicit Merger(const ProtocolRecord& first) : first_(first) {
    merged_.protocol = first.protocol;
    merged_.task = first.task;
    merged_.study = first.study;
    merged_.lengths = first.lengths;
    for (StudyAxis& axis : merged_.study.axes) axis.values.clear();
  }

  // Adds the record's finished runs, or the others. Finished runs of all records come first,
  // because one record may have finished a run that another has not.
  void add(const ProtocolRecord& record, bool finished) {
    for (const Run& run : record.runs) {
      if (run.result.finished() != finished) continue;
      const Place place = place_of(record, run);
      std::string reason = reason_against(record, run, place);
      if (!finished && taken_.contains(place.name)) {
        // A later attempt succeeded. A divergence also counts as a result.
        if (run.result.state != RunResult::State::diverged) continue;
        reason = "diverged: " + run.result.remark + "; another record has it finished";
      }
      if (reason.empty()) {
        take(record, run, place);
      } else {
        merged_.apart.push_back({.name = run.result.name, .file = record.file, .reason = reason});
      }
    }
  }

  MergedTable take_table() {
    merged_.rows = study_rows(merged_.study, results_);
    return std::move(merged_);
  }

 private:
  // The place of a run in the table.
  struct Place {
    std::vector<std::string> values;  // marked with the run's machine where that is another one
    std::string row;                  // as StudyRow::title()
    std::string name;                 // "rope, seed 1"
  };

  const ProtocolRecord& first_;
  MergedTable merged_;
  std::vector<RunResult> results_;
  std::optional<Run> base_;                   // the first run that was taken
  std::map<std::string, KeyTexts> options_;   // of each row
  std::map<std::string, std::string> taken_;  // the records of the runs, by Place::name

  Place place_of(const ProtocolRecord& record, const Run& run) const {
    Place place{.values = run.settings.values};
    const std::string machine = machine_of(run.result);  // "" for a run that was never begun
    const bool elsewhere = base_ && !machine.empty() && !same_machine(run.result, base_->result);
    StudyRow row;
    for (std::size_t axis = 0; axis < place.values.size(); ++axis) {
      if (record.study.axes[axis].key == kSeedAxis) continue;
      if (elsewhere && row.labels.empty()) place.values[axis] += fmt::format(" [{}]", machine);
      row.labels.push_back(place.values[axis]);
    }
    place.row = row.title();
    place.name = fmt::format("{}, seed {}", place.row, run.settings.settings.seed);
    return place;
  }

  // Why the run does not belong in the table; "" if it does.
  std::string reason_against(const ProtocolRecord& record, const Run& run,
                             const Place& place) const {
    std::vector<std::string> reasons;
    if (record.study.version != first_.study.version) {
      reasons.push_back(
          fmt::format("protocol version {}, here {}", record.study.version, first_.study.version));
    }
    // A run that could not begin has no data either.
    if (base_ && (run.result.finished() || run.result.record.is_object())) {
      reasons.push_back(data_differences_text(recorded_data(run.result.record),
                                              recorded_data(base_->result.record)));
    }
    if (base_ && run.result.finished()) {
      const std::string gradient = attention_gradient_of(run.result.record),
                        here = attention_gradient_of(base_->result.record);
      if (!gradient.empty() && !here.empty() && gradient != here) {
        reasons.push_back(fmt::format("gradient of attention {}, here {}", gradient, here));
      }
    }
    reasons.push_back(key_differences(record.recipe, first_.recipe));
    if (!std::ranges::equal(record.study.axes, first_.study.axes, {}, &StudyAxis::key,
                            &StudyAxis::key)) {
      reasons.push_back("other axes");
    }
    std::erase(reasons, "");
    if (!reasons.empty()) return fmt::format("{}", fmt::join(reasons, "; "));
    if (const auto known = options_.find(place.row); known != options_.end()) {
      const std::string options = key_differences(run.options, known->second);
      if (!options.empty()) return "another " + place.row + ": " + options;
    }
    const auto made = taken_.find(place.name);
    return made == taken_.end() ? "" : "is in " + made->second + ", too, and counted once";
  }

  void take(const ProtocolRecord& record, const Run& run, const Place& place) {
    if (!base_) {
      base_ = run;
      merged_.machine = machine_of(run.result);
    }
    options_[place.row] = run.options;
    taken_[place.name] = record.file;
    merged_.families[place.row] = run.family;
    for (std::size_t axis = 0; axis < place.values.size(); ++axis) {
      add_once(merged_.study.axes[axis].values, place.values[axis]);
    }
    StudyRun& settings = merged_.study.runs.emplace_back(run.settings);
    RunResult& result = results_.emplace_back(run.result);
    result.name = settings.name = place.name;
    result.values = settings.values = place.values;
  }
};

using nlohmann::json;

struct ReadRecords {
  std::vector<ProtocolRecord> protocols;
  std::vector<std::pair<std::string, json>> documents;  // all of them, with their files
};

ReadRecords read_records(const std::vector<fs::path>& files) {
  ReadRecords result;
  std::set<fs::path> read;
  for (const fs::path& file : files) {
    std::error_code error;
    if (!read.insert(fs::weakly_canonical(file, error)).second) {
      throw_usage("--merge", file.string() + " is given twice");
    }
    json document = read_record(file);
    if (is_protocol_record(document)) {
      result.protocols.push_back(read_protocol_record(document, file));
    }
    result.documents.emplace_back(file.filename().string(), std::move(document));
  }
  return result;
}

// "masked language model" for "mlm".
std::string task_title(const std::string& word) {
  for (const TaskFacts& facts : all_task_facts()) {
    if (to_word(facts.task) == word) return std::string(facts.title);
  }
  return word;
}

std::string length_words(std::int64_t length, std::int64_t trained) {
  return fmt::format("{} ({}x)", length,
                     static_cast<double>(length) / static_cast<double>(trained));
}

// The rows' test losses as evaluations at the lengths, for their charts.
std::vector<LengthRow> length_rows(const MergedTable& merged) {
  std::vector<LengthRow> rows;
  for (const StudyRow& row : merged.rows) {
    const Settings& settings = merged.study.runs.front().settings;
    LengthRow result{.title = row.title()};
    for (const std::int64_t length : merged.lengths) {
      LengthCell cell{.length = length};
      const std::string figure = test_loss_at(length, settings);
      for (const RunResult& run : row.runs) {
        const auto loss = run.figures.find(figure);
        if (loss != run.figures.end()) cell.runs[run.name].loss = loss->second;
      }
      result.cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(result));
  }
  return rows;
}

void add_length_chart(HtmlReport& report, const MergedTable& merged) {
  if (merged.lengths.empty() || merged.rows.empty()) return;
  const std::vector<LengthRow> rows = length_rows(merged);
  std::vector<LineChart> charts = length_charts(rows, common_training_length(merged.study));
  if (charts.empty()) return;
  std::vector<std::string> families;
  for (const Series& series : charts.front().series) {
    families.push_back(merged.families.at(series.name));
  }
  charts.front().title = "Test loss against length";
  charts.front().subtitle = "Mean over the seeds; same held-out text for all";
  std::visit([&](const auto& chart) { report.chart(chart); },
             by_family(std::move(charts.front()), families));
}

// The metric's dots and its differences from the reference.
void add_metric(HtmlReport& report, const MergedTable& merged, const std::string& metric,
                const std::string& title) {
  StudySettings study = merged.study;
  study.metric = metric;
  const std::vector<StudyRow>& rows = merged.rows;  // as in the table, for all lengths
  for (NamedChart& one : study_charts(study, {.rows = rows})) {
    if (one.name != "figures") continue;
    auto* const dots = std::get_if<DotChart>(&one.chart);
    if (dots == nullptr) continue;
    dots->title = title;
    report.chart(*dots);
  }
  const Table differences = difference_table(study, rows);
  if (!differences.rows().empty()) report.table(differences, difference_caption(study, rows));
  const Table paired = target_difference_table(study, rows);
  if (!paired.rows().empty()) report.table(paired, target_difference_caption(study));
}

std::string table_caption(const MergedTable& merged) {
  std::string text = merged.lengths.empty()
                         ? ""
                         : "Loss of the test set in nats, at the training length and beyond it. ";
  text +=
      "Mean ± standard deviation where there are several seeds, which have a rank by their means; "
      "a "
      "row of one seed has none and comes last, in the order of its record.";
  const bool elsewhere = std::ranges::any_of(
      merged.rows, [](const StudyRow& row) { return row.title().find('[') != std::string::npos; });
  if (!merged.machine.empty()) {
    text += fmt::format(
        " Made on: {}{}. Times and memory compare on one machine only, and times only "
        "where nothing ran beside a training, as another one does with --jobs 2.",
        merged.machine, elsewhere ? ", but for rows with another machine in brackets" : "");
  }
  text += attention_sentence(merged.rows);
  return text;
}

void add_protocol(HtmlReport& report, const MergedTable& merged) {
  const std::string task = task_title(merged.task);
  report.begin_part({.filter = "task", .value = task, .column = ""});
  report.section(fmt::format("{}, a {}", merged.protocol, task));
  if (merged.rows.empty()) {
    report.paragraph("No finished run.");
  } else {
    report.table(study_table(merged.study, merged.rows, TableUse::page), table_caption(merged));
    add_length_chart(report, merged);
    const Settings& settings = merged.study.runs.front().settings;
    for (const std::int64_t length : merged.lengths) {
      const std::string metric = test_loss_at(length, settings);
      const std::string words = length_words(length, settings.data.length);
      report.begin_part({.filter = "length", .value = words, .column = metric});
      add_metric(report, merged, metric, "Test loss at " + words);
      report.end_part();
    }
    if (merged.lengths.empty()) {
      const std::string& metric = merged.study.metric;
      add_metric(report, merged, metric, metric_column_of(merged.study, merged.rows, metric).title);
    }
  }
  if (!merged.apart.empty()) report.table(apart_table(merged));
  report.end_part();
}

// Shows the record's tables of these names.
void add_stored(HtmlReport& report, const std::string& file, const json& document,
                const std::vector<std::string>& names) {
  for (const json& entry : document.value("tables", json::array())) {
    const std::string name = entry.is_object() ? entry.value("name", "") : "";
    if (std::ranges::find(names, name) == names.end()) continue;
    report.table(read_stored_table(entry, file), fmt::format("`{}`, {}", file, name));
  }
}

void add_other_record(HtmlReport& report, const std::string& file, const json& document) {
  report.section(document.value("study", file));
  add_stored(report, file, document, {"spread", "results", "differences"});
  for (const json& entry : document.value("charts", json::array())) {
    if (entry.value("name", "") != "figures") continue;
    std::visit([&](const auto& chart) { report.chart(chart); }, read_stored_chart(entry, file));
  }
}

Table records_table(const ReadRecords& records) {
  Table table({words_column("record"), words_column("program"), words_column("command")});
  for (const auto& [file, document] : records.documents) {
    const json program = document.value("program", json::object());
    table.add_row(
        {file, fmt::format("{} ({})", program.value("version", ""), program.value("commit", "")),
         document.value("command", "")});
  }
  return table;
}

}  // namespace

std::vector<MergedTable> merge_records(const std::vector<ProtocolRecord>& records) {
  std::vector<std::string> protocols;
  for (const ProtocolRecord& record : records) add_once(protocols, record.protocol);
  std::vector<MergedTable> result;
  for (const std::string& protocol : protocols) {
    const auto first = std::ranges::find(records, protocol, &ProtocolRecord::protocol);
    Merger merger(*first);
    for (const bool finished : {true, false}) {
      for (const ProtocolRecord& record : records) {
        if (record.protocol == protocol) merger.add(record, finished);
      }
    }
    result.push_back(merger.take_table());
  }
  return result;
}

Table apart_table(const MergedTable& merged) {
  Table table({words_column("does not compare"), words_column("record"), words_column("why")});
  for (const ApartRun& run : merged.apart) table.add_row({run.name, run.file, run.reason});
  return table;
}

std::string records_page(const std::vector<fs::path>& files, const Origin& origin) {
  const ReadRecords records = read_records(files);
  const std::vector<MergedTable> merged = merge_records(records.protocols);
  std::vector<std::string> versions;
  for (const MergedTable& one : merged) {
    versions.push_back(fmt::format("{} version {}", one.protocol, one.study.version));
  }
  HtmlReport report({.title = versions.empty() ? "Studies" : "Leaderboard of positional schemes",
                     .subtitle = versions.empty()
                                     ? "Records of studies, side by side"
                                     : fmt::format("Positional schemes under one protocol: {}",
                                                   fmt::join(versions, ", ")),
                     .footer = origin.footer()});
  std::vector<StudyRow> rows;
  for (const MergedTable& one : merged) {
    add_protocol(report, one);
    rows.insert(rows.end(), one.rows.begin(), one.rows.end());
  }
  bool tuned = false;
  for (const auto& [file, document] : records.documents) {
    if (!is_protocol_record(document)) {
      add_other_record(report, file, document);
    } else if (document.contains("tuning")) {
      if (!std::exchange(tuned, true)) report.section("What was tuned");
      const std::string task = document["protocol"].value("task", "");
      report.begin_part({.filter = "task", .value = task_title(task), .column = ""});
      add_stored(report, file, document, {"tuning"});
      report.end_part();
    }
  }
  report.section("How it was made");
  if (!rows.empty()) report.table(provenance_table(rows));
  report.table(records_table(records));
  return report.html();
}

std::vector<TitledTable> merged_tables(const std::vector<fs::path>& files, TableUse use) {
  const ReadRecords records = read_records(files);
  std::vector<TitledTable> tables;
  for (const MergedTable& merged : merge_records(records.protocols)) {
    const std::string title = fmt::format("{} version {}, a {}", merged.protocol,
                                          merged.study.version, task_title(merged.task));
    if (!merged.rows.empty()) {
      tables.push_back({"results", title, study_table(merged.study, merged.rows, use)});
    }
    Table differences = difference_table(merged.study, merged.rows);
    if (!differences.rows().empty()) {
      tables.push_back({"differences", title + ": differences", std::move(differences)});
    }
    if (!merged.apart.empty()) {
      tables.push_back({"apart", title + ": what compares with nothing", apart_table(merged)});
    }
  }
  if (tables.empty()) {
    const char* const what = records.protocols.empty()
                                 ? "none of the records is of a protocol (study.version)"
                                 : "the records of a protocol hold no run";
    throw_usage("--merge", what, "roformer study --render RECORD prints one of another study");
  }
  for (const auto& [file, document] : records.documents) {
    if (is_protocol_record(document)) continue;
    log::warn("{}: is of no protocol (study.version) and has no row here; --page has its tables",
              file);
  }
  return tables;
}

}  // namespace roformer
