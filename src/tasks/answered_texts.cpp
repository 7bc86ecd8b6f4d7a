#include "tasks/answered_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/blank.h"
#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress.h"

namespace roformer {
namespace {

constexpr std::size_t kRowsAtATime = 4096;

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

// Tabs and line ends separate the cells and rows of TSV.
std::string tsv_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string line_of(const std::vector<std::string>& cells, TextFormat format) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += format == TextFormat::csv ? ',' : '\t';
    line += format == TextFormat::csv ? csv_cell(cell) : tsv_cell(cell);
  }
  return line + '\n';
}

std::string line_of(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

class AnsweredTexts {
 public:
  AnsweredTexts(const TextQuestions& questions, const Settings& settings,
                const PredictionRequest& request)
      : questions_(questions),
        settings_(settings),
        request_(request),
        table_(request.file,
               {.format = text_format(request.format),
                .header = settings.data.header,
                .skip_broken = request.skip_broken,
                .expected = questions.usual_names,
                .hint_for_broken =
                    "wanted one JSON object per line; --skip-broken skips other lines"}),
        names_(table_.names()),
        json_(request.json || table_.is_json()) {
    if (table_.is_plain()) {
      if (names_.size() > 1) columns_.second = 1;
      names_ = plain_names();
    } else if (!names_.empty()) {
      columns_ = questions_.find_columns(table_);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (std::ranges::count(questions_.columns, names_[i]) == 0) {
        kept_.push_back(i);
      } else {
        replaced_.insert(names_[i]);
      }
    }
    if (json_) refuse_equal_names();
  }

  void write() {
    bool more = table_.next();
    if (!json_ && more) request_.print(header());
    while (more) {
      for (; more && rows_.size() < kRowsAtATime; more = table_.next()) take();
      flush();
    }
    const std::string& name = table_.lines().name();
    table_.lines().warn_of_replaced();
    if (count_ == 0) log::warn("{}: there is no text in it", name);
    for (const std::string& column : replaced_) {
      log::warn("{}: the answers replace its column {}", name, printable(column));
    }
    if (empty_ > 0) log::warn("{}: {} without any word", name, format_counted(empty_, "text"));
    if (cut_ > 0) {
      log::warn("{}: {} cut at data.length {}", name, format_counted(cut_, "text"),
                settings_.data.length);
    }
  }

 private:
  struct Row {
    std::vector<std::string> cells;
    nlohmann::ordered_json object;
    bool has_text = true;
  };

  const TextQuestions& questions_;
  const Settings& settings_;
  const PredictionRequest& request_;
  TableReader table_;
  std::vector<std::string> names_;
  bool json_;
  TextColumns columns_;
  std::vector<Row> rows_;
  std::vector<GivenText> texts_;    // of the rows that have some
  std::set<std::string> replaced_;  // columns of the input that an answer replaces
  std::vector<std::size_t> kept_;   // the others
  std::int64_t count_ = 0, empty_ = 0, cut_ = 0;

  // An object has one field of a name, so one of the cells would be lost.
  void refuse_equal_names() const {
    for (const std::size_t i : kept_) {
      if (std::ranges::count(names_, names_[i]) == 1) continue;
      throw_usage("--json",
                  fmt::format("{} has two columns {}", table_.file(), printable(names_[i])),
                  "give the columns different names, or leave out --json");
    }
  }

  const std::vector<std::string>& plain_names() const {
    if (names_.size() == questions_.single.size()) return questions_.single;
    if (names_.size() == questions_.pair.size()) return questions_.pair;
    constexpr const char* kOne = "one text per line";
    constexpr const char* kTwo = "two texts per line with a tab between them";
    throw_failure(
        table_.location(),
        fmt::format("has {} and no header line", format_counted(std::ssize(names_), "column")),
        fmt::format("{}{}{}, or add a header line with the column names",
                    questions_.single.empty() ? "" : kOne,
                    questions_.single.empty() || questions_.pair.empty() ? "" : ", ",
                    questions_.pair.empty() ? "" : kTwo));
  }

  std::string header() const {
    std::vector<std::string> cells;
    for (const std::size_t i : kept_) cells.push_back(names_[i]);
    cells.insert(cells.end(), questions_.columns.begin(), questions_.columns.end());
    return line_of(cells, table_.format());
  }

  void take() {
    for (std::int64_t i = 0; i < table_.blank_before(); ++i) rows_.push_back({.has_text = false});
    if (table_.is_left_out()) {
      rows_.push_back({.has_text = false});
      return;
    }
    Row row;
    if (table_.is_json()) {
      for (const auto& [name, value] : table_.object().items()) row.object[name] = value;
    } else {
      const std::vector<std::string> cells = table_.row();
      for (const std::size_t i : kept_) {
        if (json_) {
          row.object[names_[i]] = cells[i];
        } else {
          row.cells.push_back(cells[i]);
        }
      }
    }
    GivenText& text = texts_.emplace_back(GivenText{.first = table_.text(columns_.first)});
    if (columns_.second) text.second = table_.text(*columns_.second);
    if (is_blank(text.first) || (text.second && is_blank(*text.second))) ++empty_;
    rows_.push_back(std::move(row));
  }

  void flush() {
    std::vector<TextAnswer> answers;
    if (!texts_.empty()) answers = questions_.answer(texts_, cut_);
    count_ += std::ssize(texts_);
    std::string printed;
    auto answer = answers.begin();
    for (Row& row : rows_) {
      printed += row.has_text ? answered(row, *answer++) : "\n";
    }
    request_.print(printed);
    rows_.clear();
    texts_.clear();
  }

  std::string answered(Row& row, const TextAnswer& answer) {
    if (json_) {
      for (const auto& [name, value] : answer.fields.items()) {
        if (row.object.erase(name) > 0) replaced_.insert(name);
        row.object[name] = value;
      }
      return line_of(row.object);
    }
    row.cells.insert(row.cells.end(), answer.cells.begin(), answer.cells.end());
    return line_of(row.cells, table_.format());
  }
};

}  // namespace

void answer_texts(const TextQuestions& questions, const Settings& settings,
                  const PredictionRequest& request) {
  AnsweredTexts(questions, settings, request).write();
}

}  // namespace roformer
