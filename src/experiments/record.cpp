#include "experiments/record.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hexadecimal.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/shipped.h"
#include "config/schema.h"
#include "experiments/protocol_record.h"
#include "experiments/stored_chart.h"
#include "experiments/stored_table.h"
#include "experiments/study_rows.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "roformer study record";
constexpr int kVersion = 1;

// The path from the root of the repository that holds the file. Only the name if no repository
// does.
std::string path_in_repository(const fs::path& file) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(file));
  for (fs::path folder = whole.parent_path(); folder != folder.root_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", error))
      return whole.lexically_relative(folder).generic_string();
  }
  return file.filename().string();
}

ordered_json record_heading(const fs::path& file, const Origin& origin) {
  return {{"format", kFormat},
          {"version", kVersion},
          {"file", path_in_repository(file)},
          {"command", origin.command},
          {"program", {{"version", origin.version}, {"commit", origin.commit}}}};
}

// The part of a run's record on which its figures depend, without the name and the machine's
// folders.
ordered_json making_of(const json& record) {
  ordered_json making = ordered_json::object();
  for (const char* fact :
       {"version", "commit", "libtorch", "precision", "device", "processes", "attention"}) {
    if (record.contains(fact)) making[fact] = record[fact];
  }
  if (const auto machine = record.find("machine"); machine != record.end()) {
    for (const char* fact : {"processor", "cores", "threads", "memory_bytes"}) {
      if (machine->contains(fact)) making["machine"][fact] = (*machine)[fact];
    }
  }
  if (const auto data = record.find("data"); data != record.end() && data->is_object()) {
    for (const auto& [fact, value] : data->items()) {
      if (fact != "folder") making["data"][fact] = value;
    }
  }
  return making;
}

// Every different making once, and for each run its making, seed and figures.
void add_runs(const StudySettings& study, const std::vector<StudyRow>& rows, ordered_json& record) {
  ordered_json makings = ordered_json::array();
  ordered_json runs = ordered_json::array();
  for (const StudyRow& row : rows) {
    for (const RunResult& result : row.runs) {
      ordered_json run = {{"name", result.name}, {"state", state_word(result.state)}};
      // Other reasons contain file names of the machine.
      if (result.state == RunResult::State::diverged) run["remark"] = result.remark;
      const auto settings = std::ranges::find_if(
          study.runs, [&](const StudyRun& other) { return other.name == result.name; });
      if (settings != study.runs.end()) {
        run["seed"] = settings->settings.seed;
        if (study.version > 0) run.update(protocol_run_json(*settings));
      }
      if (result.record.is_object()) {
        const ordered_json making = making_of(result.record);
        const auto found = std::ranges::find(makings, making);
        run["making"] = found - makings.begin();
        if (found == makings.end()) makings.push_back(making);
        if (result.record.contains("started")) run["started"] = result.record["started"];
      }
      run["figures"] = result.figures;
      runs.push_back(std::move(run));
    }
  }
  record["makings"] = std::move(makings);
  record["runs"] = std::move(runs);
}

ordered_json named_table(const std::string& name, const Table& table) {
  ordered_json entry = {{"name", name}};
  entry.update(stored_table(table));
  return entry;
}

ordered_json tables_of(const StudySettings& study, const StudyResults& results) {
  ordered_json tables = ordered_json::array();
  for (const StudyTable& one : study_tables(study, results, TableUse::document)) {
    if (!one.of_missing) tables.push_back(named_table(one.name, one.table));
  }
  return tables;
}

// A kind of list in a record: the names of the list and of one entry.
struct Kind {
  const char* several;
  const char* one;
};

const json& entry_named(const json& document, const Kind& kind, const std::string& name,
                        const std::string& file) {
  const auto entries = document.find(kind.several);
  if (entries == document.end() || !entries->is_array() || entries->empty()) {
    throw_failure(file, fmt::format("is a record without {}", kind.several));
  }
  std::vector<std::string> names;
  for (const json& entry : *entries) {
    const json own = entry.is_object() ? entry.value("name", json()) : json();
    if (!own.is_string()) throw_failure(file, fmt::format("holds a {} without a name", kind.one));
    names.push_back(own.get<std::string>());
    if (name.empty() || names.back() == name) return entry;
  }
  throw_usage(file, fmt::format("has no {} \"{}\"", kind.one, name),
              fmt::format("it has {}", fmt::join(names, ", ")));
}

constexpr std::string_view kSpreadOf = "spread:";

// The column `key` of the results in the form of the table `spread`, which has the values of one
// label as its columns and the other labels as its rows.
Table spread_of(const Table& results, const Table& form, const std::string& key,
                const std::string& file) {
  const auto figure = std::ranges::find(results.columns(), key, &Column::key);
  if (figure == results.columns().end() || figure->alignment == Column::Alignment::left) {
    throw_usage(file, fmt::format("has no figure \"{}\" in its results", key));
  }
  const auto place = static_cast<std::size_t>(figure - results.columns().begin());
  std::vector<Column> columns{form.columns().front()};
  for (std::size_t i = 1; i < form.columns().size(); ++i) {
    Column& column = columns.emplace_back(*figure);
    column.title = form.columns()[i].title;
    column.key = form.columns()[i].key;
  }
  std::vector<std::vector<Cell>> rows;
  for (const std::vector<Cell>& row : form.rows()) {
    rows.emplace_back(columns.size()).front() = row.front();
  }
  for (const std::vector<Cell>& cells : results.rows()) {
    std::vector<std::string> others;
    std::size_t column = 0;
    for (std::size_t i = 0; i < place; ++i) {
      const auto* const label = std::get_if<std::string>(&cells[i]);
      if (label == nullptr) continue;
      const auto found = std::ranges::find(columns, *label, &Column::key);
      if (column == 0 && found != columns.end()) {
        column = static_cast<std::size_t>(found - columns.begin());
      } else {
        others.push_back(*label);
      }
    }
    const std::string title = fmt::format("{}", fmt::join(others, ", "));
    const auto row = std::ranges::find(
        rows, title, [](const auto& one) { return std::get<std::string>(one.front()); });
    if (column == 0 || row == rows.end()) {
      throw_usage(file, fmt::format("the row {} of its results has no place in its table spread",
                                    printable(title)));
    }
    (*row)[column] = cells[place];
  }
  Table table(columns);
  for (std::vector<Cell>& row : rows) table.add_row(std::move(row));
  return table;
}

}  // namespace

std::string settings_fingerprint(const StudySettings& study) {
  std::string text;
  for (const StudyRun& run : study.runs) {
    text += run.name + "\n";
    for (const Key& key : schema()) {
      if (key.type == KeyType::path || key.name == "run") continue;
      text += key.name + "=" + key.get(run.settings) + "\n";
    }
  }
  return hexadecimal(XXH3_64bits(text.data(), text.size()));
}

void write_table_record(const fs::path& record, const fs::path& file,
                        const std::vector<NamedTable>& tables, const ordered_json& made,
                        const Origin& origin) {
  ordered_json document = record_heading(file, origin);
  document.update(made);
  document["tables"] = ordered_json::array();
  for (const NamedTable& one : tables) {
    if (!one.table.rows().empty()) document["tables"].push_back(named_table(one.name, one.table));
  }
  write_checksummed_json(InnerPath::named(record), document);
}

void write_study_record(const fs::path& record, const fs::path& study_file,
                        const StudySettings& study, const StudyResults& results,
                        const Origin& origin) {
  ordered_json document = record_heading(study_file, origin);
  document["study"] = study.name;
  document["settings_fingerprint"] = settings_fingerprint(study);
  document["metric"] = study.metric;
  if (study.version > 0) document["protocol"] = protocol_json(study);
  add_runs(study, results.rows, document);
  if (results.tuning) {
    ordered_json tuning = {{"keys", study.tuning->keys},
                           {"with", study.tuning->with},
                           {"settings_fingerprint", settings_fingerprint(*study.tuning->study)}};
    add_runs(*study.tuning->study, results.tuning->rows, tuning);
    document["tuning"] = std::move(tuning);
  }
  if (results.translations) document["signatures"] = results.translations->signatures;
  document["tables"] = tables_of(study, results);
  ordered_json charts = ordered_json::array();
  for (const NamedChart& one : study_charts(study, results)) {
    ordered_json entry = {{"name", one.name}};
    entry.update(stored_chart(one.chart));
    charts.push_back(std::move(entry));
  }
  document["charts"] = std::move(charts);
  write_checksummed_json(InnerPath::named(record), document);
}

void require_record_output(const std::filesystem::path& record) {
  require_output(record);
  std::error_code error;
  if (!std::filesystem::is_regular_file(record, error)) return;
  try {
    read_record(record);
  } catch (const Error& problem) {
    throw_usage(record.string(),
                "is there, and a record alone is replaced: it " + problem.parts().message,
                "name another file, or remove it");
  }
}

json read_record(const fs::path& given) {
  const fs::path file = located(given);
  const json whole = read_json(file);
  if (!whole.is_object() || whole.value("format", json()) != kFormat) {
    throw_failure(file.string(), "is no record of a study",
                  "`roformer study FILE --record RECORD` writes one");
  }
  if (whole.value("version", json()) != kVersion) {
    throw_failure(file.string(),
                  fmt::format("has the version {}, this program reads {}",
                              describe_json(whole.value("version", json())), kVersion));
  }
  if (!whole.contains("checksum")) throw_failure(file.string(), "has lost its checksum");
  return read_checksummed_json(file);
}

Table recorded_table(const fs::path& record, const std::string& name) {
  const json document = read_record(record);
  const std::string file = record.string();
  const auto table = [&](const std::string& stored) {
    return read_stored_table(entry_named(document, {"tables", "table"}, stored, file), file);
  };
  if (!name.starts_with(kSpreadOf)) return table(name);
  return spread_of(table("results"), table("spread"), name.substr(kSpreadOf.size()), file);
}

std::string recorded_chart(const fs::path& record, const std::string& name, std::string_view file) {
  const json document = read_record(record);
  const json& stored = entry_named(document, {"charts", "chart"}, name, record.string());
  return picture_file(draw(read_stored_chart(stored, record.string())), file);
}

}  // namespace roformer
