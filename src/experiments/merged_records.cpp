#include "experiments/merged_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "experiments/data_facts.h"

namespace roformer {
namespace {

using Run = ProtocolRecord::Run;

void add_reason(std::string& reasons, const std::string& reason) {
  reasons += (reasons.empty() ? "" : "; ") + reason;
}

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

  // The runs that are finished, or the others: what one record has not finished, another may have.
  void add(const ProtocolRecord& record, bool finished) {
    for (const Run& run : record.runs) {
      if ((run.result.state == RunResult::State::finished) != finished) continue;
      std::string reason = reason_against(record, run);
      if (!finished &&
          taken_.contains(with_seed(row_of(record, marked_values(record, run)), run))) {
        // A later attempt came through; that one diverged is a result all the same.
        if (run.result.state != RunResult::State::diverged) continue;
        reason = "diverged: " + run.result.remark + "; another record has it finished";
      }
      if (reason.empty()) {
        take(record, run);
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
  const ProtocolRecord& first_;
  MergedTable merged_;
  std::vector<RunResult> results_;
  std::optional<Run> base_;                   // the first run that was taken
  std::map<std::string, KeyTexts> options_;   // of each row
  std::map<std::string, std::string> taken_;  // runs' names, by what was taken, with their records

  // The run's values, marked with its machine where that is another than the table's.
  std::vector<std::string> marked_values(const ProtocolRecord& record, const Run& run) const {
    std::vector<std::string> values = run.settings.values;
    const std::string machine = machine_of(run.result);  // "" for one that was never begun
    if (!base_ || machine.empty() || same_machine(run.result, base_->result)) return values;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      if (record.study.axes[axis].key == kSeedAxis) continue;
      values[axis] += fmt::format(" [{}]", machine);
      break;
    }
    return values;
  }

  // As StudyRow::title.
  static std::string row_of(const ProtocolRecord& record, const std::vector<std::string>& values) {
    StudyRow row;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      if (record.study.axes[axis].key != kSeedAxis) row.labels.push_back(values[axis]);
    }
    return row.title();
  }

  static std::string with_seed(const std::string& row, const Run& run) {
    return fmt::format("{}, seed {}", row, run.settings.settings.seed);
  }

  // "" for a run of the table.
  std::string reason_against(const ProtocolRecord& record, const Run& run) const {
    std::string reasons;
    if (record.study.version != first_.study.version) {
      add_reason(reasons, fmt::format("protocol version {}, here {}", record.study.version,
                                      first_.study.version));
    }
    // One that could not be begun has no data either.
    const bool begun =
        run.result.state == RunResult::State::finished || run.result.record.is_object();
    if (base_ && begun) {
      const std::string data = data_differences_text(recorded_data(run.result.record),
                                                     recorded_data(base_->result.record));
      if (!data.empty()) add_reason(reasons, data);
    }
    if (const std::string recipe = key_differences(record.recipe, first_.recipe); !recipe.empty()) {
      add_reason(reasons, recipe);
    }
    const auto same_axes = [](const StudyAxis& a, const StudyAxis& b) { return a.key == b.key; };
    if (!std::ranges::equal(record.study.axes, first_.study.axes, same_axes)) {
      add_reason(reasons, "other axes");
    }
    if (!reasons.empty()) return reasons;
    const std::string row = row_of(record, marked_values(record, run));
    if (const auto known = options_.find(row); known != options_.end()) {
      add_reason(reasons, key_differences(run.options, known->second));
      if (!reasons.empty()) return "another " + row + ": " + reasons;
    }
    const auto made = taken_.find(with_seed(row, run));
    return made == taken_.end() ? "" : "is in " + made->second + ", too, and counted once";
  }

  void take(const ProtocolRecord& record, const Run& run) {
    const std::vector<std::string> values = marked_values(record, run);
    const std::string row = row_of(record, values);
    if (!base_) {
      base_ = run;
      merged_.machine = machine_of(run.result);
    }
    options_[row] = run.options;
    taken_[with_seed(row, run)] = record.file;
    merged_.families[row] = run.family;
    for (std::size_t axis = 0; axis < values.size(); ++axis) {
      std::vector<std::string>& known = merged_.study.axes[axis].values;
      if (std::find(known.begin(), known.end(), values[axis]) == known.end()) {
        known.push_back(values[axis]);
      }
    }
    RunResult result = run.result;
    StudyRun settings = run.settings;
    result.name = settings.name = with_seed(row, run);
    result.values = settings.values = values;
    merged_.study.runs.push_back(std::move(settings));
    results_.push_back(std::move(result));
  }
};

}  // namespace

std::vector<MergedTable> merge_records(const std::vector<ProtocolRecord>& records) {
  std::vector<std::string> protocols;
  for (const ProtocolRecord& record : records) {
    if (std::find(protocols.begin(), protocols.end(), record.protocol) == protocols.end()) {
      protocols.push_back(record.protocol);
    }
  }
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
  constexpr auto kWords = Column::Alignment::left;
  Table table({{.title = "does not compare", .alignment = kWords},
               {.title = "record", .alignment = kWords},
               {.title = "why", .alignment = kWords}});
  for (const ApartRun& run : merged.apart) table.add_row({run.name, run.file, run.reason});
  return table;
}

}  // namespace roformer
