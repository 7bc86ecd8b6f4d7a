#include "data/glue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/as_number.h"
#include "base/blank.h"
#include "base/error.h"
#include "base/log.h"
#include "data/line_reader.h"
#include "data/record_reader.h"
#include "data/table_reader.h"
#include "text/utf8.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The names that the file of a split may have: the benchmark's, then those that Hugging Face's
// `datasets` gives its splits.
std::vector<std::string> file_names(GlueTask task, GlueSplit split) {
  constexpr std::array<std::string_view, 5> kOfMnli = {"train", "dev_matched", "dev_mismatched",
                                                       "test_matched", "test_mismatched"};
  constexpr std::array<std::string_view, 5> kOfOthers = {"train", "dev", "", "test", ""};
  const auto index = static_cast<std::size_t>(split);
  const std::string name(task == GlueTask::mnli ? kOfMnli[index] : kOfOthers[index]);
  ROFORMER_ASSERT(!name.empty());
  std::vector<std::string> names{name + ".tsv"};
  std::vector<std::string> stems{name};
  if (name.starts_with("dev")) stems.push_back("validation" + name.substr(3));
  for (const std::string& stem : stems) {
    for (const char* ending : {".tsv", ".jsonl", ".csv"}) {
      if (stem + ending != names.front()) names.push_back(stem + ending);
    }
  }
  return names;
}

// Reads the rows of one file.
class GlueReader {
 public:
  // QQP's training files have rows that a line end has broken. The benchmark's baselines leave them
  // out. In a test file, leaving rows out would shift the numbers of the predictions.
  GlueReader(fs::path path, GlueTask task, GlueSplit split)
      : path_(std::move(path)),
        facts_(glue_task_facts(task)),
        allows_broken_rows_(task == GlueTask::qqp && split != GlueSplit::test),
        is_test_(split == GlueSplit::test || split == GlueSplit::test_mismatched) {}

  LabelledTexts read() {
    result_.pairs = facts_.pairs;
    if (path_.extension() != ".tsv") return read_table();
    return read_lines();
  }

 private:
  // Files of the Hub, with quoted cells or JSON objects.
  LabelledTexts read_table() {
    table_.emplace(path_, TableReader::Options{});
    const std::vector<std::string>& names = table_->names();
    find_columns({names.begin(), names.end()});
    while (table_->next()) {
      const std::vector<std::string> cells = table_->row();
      take({cells.begin(), cells.end()});
    }
    if (result_.examples.empty()) throw_failure(path_.string(), "has no examples");
    return std::move(result_);
  }

  LabelledTexts read_lines() {
    lines_.emplace(path_, LineReader::kAnyLength);
    std::optional<std::string_view> row = next_row();
    if (!row) throw_failure(path_.string(), "is empty");
    const bool headless = facts_.task == GlueTask::cola && tab_columns(*row).size() == 4;
    find_columns(headless ? Cells{"source", "label", "mark", "sentence"} : tab_columns(*row));
    if (!headless) row = next_row();
    std::int64_t empty = 0;
    for (; row; row = next_row()) {
      // Empty lines at the end of a file are ignored. An empty line before other lines is a row
      // with too few columns.
      if (row->empty()) {
        ++empty;
        continue;
      }
      const std::int64_t here = line_;
      for (line_ = here - empty; empty > 0; ++line_, --empty) take(Cells{""});
      take(tab_columns(*row));
    }
    if (result_.examples.empty()) throw_failure(path_.string(), "has no examples");
    return std::move(result_);
  }

  fs::path path_;
  const GlueTaskFacts& facts_;
  bool allows_broken_rows_;
  bool is_test_;
  std::optional<LineReader> lines_;
  std::optional<TableReader> table_;
  std::int64_t line_ = 0;
  std::size_t width_ = 0;
  std::optional<std::size_t> index_, first_, second_, label_;
  LabelledTexts result_;

  std::string location() const {
    return table_ ? table_->location() : fmt::format("{}:{}", path_.string(), line_);
  }

  std::optional<std::string_view> next_row() {
    std::string_view row;
    if (!lines_->next(row)) return std::nullopt;
    line_ = lines_->number();
    return row;
  }

  void find_columns(const Cells& header) {
    const auto column = [&](const std::string& name) {
      return column_named(header, name, location());
    };
    const auto required = [&](const std::string& name, const std::string& hub) {
      std::optional<std::size_t> found = column(name);
      if (!found && !hub.empty()) found = column(hub);
      if (!found) {
        throw_failure(location(), fmt::format("has no column '{}'", name),
                      fmt::format("is it a file of {}?", facts_.folder));
      }
      return found;
    };
    width_ = header.size();
    index_ = column("index");
    if (!index_) index_ = column("idx");
    first_ = required(facts_.first, facts_.hub_first);
    if (facts_.pairs) second_ = required(facts_.second, facts_.hub_second);
    label_ = column(facts_.label);
    if (!label_) label_ = column("label");
    result_.labelled = label_.has_value();
  }

  void take(const Cells& cells) {
    if (cells.size() != width_) {
      if (allows_broken_rows_) {
        ++result_.broken_rows;
        return;
      }
      require_columns(cells, width_, location(),
                      "columns are separated by tabs; quotation marks do not join them");
    }
    LabelledText example{.index = static_cast<std::int64_t>(result_.examples.size()),
                         .first = std::string(cells[*first_]),
                         .second = second_ ? std::string(cells[*second_]) : std::string()};
    if (index_) {
      const std::optional<std::int64_t> index = as_number<std::int64_t>(cells[*index_]);
      if (!index) {
        throw_failure(location(), fmt::format("got index '{}', wanted a number", cells[*index_]));
      }
      example.index = *index;
    }
    // Hugging Face's `datasets` writes secret labels as -1.
    if (label_ && is_test_ && cells[*label_] == "-1") {
      label_.reset();
      result_.labelled = false;
    }
    if (label_) set_label(cells[*label_], example);
    result_.empty_sentences += is_blank(example.first) + (second_ && is_blank(example.second));
    result_.malformed_rows += !is_valid_utf8(example.first) || !is_valid_utf8(example.second);
    result_.examples.push_back(std::move(example));
  }

  void set_label(std::string_view text, LabelledText& example) const {
    if (facts_.is_regression()) {
      const std::optional<double> score = as_number<double>(text);
      if (!score || !(*score >= 0 && *score <= 5)) {
        throw_failure(location(), fmt::format("got score '{}', wanted a number from 0 to 5", text));
      }
      example.score = *score;
      return;
    }
    const auto found = std::ranges::find(facts_.labels, text);
    if (found == facts_.labels.end()) {
      // Hugging Face's `datasets` numbers the classes in the order of facts_.labels.
      const std::optional<std::int64_t> number = as_number<std::int64_t>(text);
      if (number && *number >= 0 && *number < std::ssize(facts_.labels)) {
        example.label = *number;
        return;
      }
      throw_failure(location(),
                    fmt::format("got label '{}', wanted {}", text, fmt::join(facts_.labels, ", ")));
    }
    example.label = found - facts_.labels.begin();
  }
};

}  // namespace

const GlueTaskFacts& glue_task_facts(GlueTask task) {
  using enum GlueTask;
  using Names = std::vector<std::string>;
  const Names binary{"0", "1"};
  const Names entailment{"entailment", "not_entailment"};
  static const std::vector<GlueTaskFacts> facts = {
      {cola, "CoLA", false, binary, "sentence", "", "label", {"unacceptable", "acceptable"}},
      {sst2, "SST-2", false, binary, "sentence", "", "label", {"negative", "positive"}},
      {.task = mrpc,
       .folder = "MRPC",
       .pairs = true,
       .labels = binary,
       .first = "#1 String",
       .second = "#2 String",
       .label = "Quality",
       .names = {"not_equivalent", "equivalent"},
       .hub_first = "sentence1",
       .hub_second = "sentence2"},
      {stsb, "STS-B", true, {}, "sentence1", "sentence2", "score"},
      {.task = qqp,
       .folder = "QQP",
       .pairs = true,
       .labels = binary,
       .first = "question1",
       .second = "question2",
       .label = "is_duplicate",
       .names = {"not_duplicate", "duplicate"}},
      // Labels in the order of Hugging Face's checkpoints.
      {.task = mnli,
       .folder = "MNLI",
       .pairs = true,
       .labels = {"entailment", "neutral", "contradiction"},
       .first = "sentence1",
       .second = "sentence2",
       .label = "gold_label",
       .hub_first = "premise",
       .hub_second = "hypothesis"},
      {qnli, "QNLI", true, entailment, "question", "sentence", "label"},
      {rte, "RTE", true, entailment, "sentence1", "sentence2", "label"},
      {.task = wnli,
       .folder = "WNLI",
       .pairs = true,
       .labels = binary,
       .first = "sentence1",
       .second = "sentence2",
       .label = "label",
       .names = {"not_entailment", "entailment"}},
  };
  return *std::ranges::find(facts, task, &GlueTaskFacts::task);
}

std::vector<std::pair<GlueSplit, std::string>> GlueTaskFacts::submissions() const {
  using enum GlueSplit;
  if (task != GlueTask::mnli) return {{test, folder + ".tsv"}};
  return {{test, folder + "-m.tsv"}, {test_mismatched, folder + "-mm.tsv"}};
}

fs::path find_glue_file(const fs::path& directory, GlueTask task, GlueSplit split) {
  const std::vector<std::string> names = file_names(task, split);
  const std::string& folder = glue_task_facts(task).folder;
  std::error_code error;
  for (const std::string& name : names) {
    for (const fs::path& path : {directory / folder / name, directory / name}) {
      if (fs::exists(path, error)) return path;
    }
  }
  throw_failure((directory / folder / names.front()).string(), "no such file",
                fmt::format("data.directory is the GLUE folder, which holds {}/{}, or the "
                            "benchmark's files of the Hub as .jsonl or .csv",
                            folder, names.front()));
}

LabelledTexts read_glue(const fs::path& directory, GlueTask task, GlueSplit split) {
  const fs::path path = find_glue_file(directory, task, split);
  LabelledTexts examples = GlueReader(path, task, split).read();
  if (examples.broken_rows > 0) {
    log::warn("{}: {} rows with the wrong number of columns were left out", path.string(),
              examples.broken_rows);
  }
  if (examples.empty_sentences > 0) {
    log::warn("{}: {} empty sentences", path.string(), examples.empty_sentences);
  }
  if (examples.malformed_rows > 0) {
    log::warn("{}: {} rows with malformed UTF-8, which is read as U+FFFD", path.string(),
              examples.malformed_rows);
  }
  return examples;
}

}  // namespace roformer
