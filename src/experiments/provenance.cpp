#include "experiments/provenance.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/progress.h"
#include "experiments/metric.h"

namespace roformer {
namespace {

struct Fact {
  const char* title;
  const char* path;  // in run.json
};

constexpr std::array kShownFacts{
    Fact{"program", "/version"},
    Fact{"commit", "/commit"},
    Fact{"LibTorch", "/libtorch"},
    Fact{"processor", "/machine/processor"},
    Fact{"cores", "/machine/cores"},
    Fact{"threads", "/machine/threads"},
    Fact{"memory", "/machine/memory_bytes"},
    Fact{"system", "/machine/system"},
    Fact{"precision", "/precision"},
    Fact{"data", "/data/name"},
    Fact{"fingerprint of the data", "/data/fingerprint"},
    Fact{"fingerprint of the tokenizer", "/data/tokenizer_fingerprint"},
};

std::string text_of(const nlohmann::json& value, const std::string& path) {
  if (path.ends_with("_bytes") && value.is_number_unsigned()) {
    return format_bytes(value.get<std::uint64_t>());
  }
  return value.is_string() ? value.get<std::string>() : describe_json(value);
}

// The different texts that the records have at the path, in the order of the runs.
std::string texts_at(const std::vector<StudyRow>& rows, const std::string& path) {
  const nlohmann::json::json_pointer pointer(path);
  std::vector<std::string> seen;
  std::string text;
  for (const StudyRow& row : rows) {
    for (const RunResult& run : row.runs) {
      if (!run.record.is_object() || !run.record.contains(pointer)) continue;
      const std::string value = text_of(run.record[pointer], path);
      if (std::find(seen.begin(), seen.end(), value) != seen.end()) continue;
      seen.push_back(value);
      text += (text.empty() ? "" : ", ") + value;
    }
  }
  return text;
}

}  // namespace

Table provenance_table(const std::vector<StudyRow>& rows) {
  Table table({{.title = "what", .alignment = Column::Alignment::left},
               {.title = "of the runs", .alignment = Column::Alignment::left}});
  for (const auto& [title, path] : kShownFacts) {
    const std::string text = texts_at(rows, path);
    if (text.empty()) continue;
    std::vector<Cell> cells;
    cells.emplace_back(std::string(title));
    cells.emplace_back(text);
    table.add_row(std::move(cells));
  }
  return table;
}

Table runs_table(const std::vector<StudyRow>& rows) {
  constexpr std::array kFigures{"steps", "tokens", "minutes"};
  std::vector<Column> columns{{.title = "run", .alignment = Column::Alignment::left},
                              {.title = "state", .alignment = Column::Alignment::left}};
  for (const char* figure : kFigures) columns.push_back(metric_column(figure));
  columns.push_back({.title = "command", .alignment = Column::Alignment::left});
  Table table(columns);
  for (const StudyRow& row : rows) {
    for (const RunResult& run : row.runs) {
      std::vector<Cell> cells;
      cells.emplace_back(run.name);
      cells.emplace_back(state_word(run.state));
      for (const char* figure : kFigures) {
        cells.emplace_back();
        const auto found = run.figures.find(figure);
        if (found != run.figures.end()) cells.back() = found->second;
      }
      cells.emplace_back();
      if (run.record.is_object() && run.record.contains("command")) {
        cells.back() = text_of(run.record["command"], "");
      }
      table.add_row(std::move(cells));
    }
  }
  return table;
}

}  // namespace roformer
