// `roformer predict` for a classifier: the labels of new texts, and for a GLUE task the files for
// the benchmark's server.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/words.h"
#include "data/line_reader.h"
#include "data/table_reader.h"
#include "data/zip.h"
#include "tasks/classification/classification_figures.h"
#include "tasks/classification/classification_task.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLinesAtATime = 4096;

struct Answers {
  std::int64_t texts = 0, cut = 0;

  void warn(const std::string& name, std::int64_t length) const {
    if (texts == 0) log::warn("{}: there is no text in it", name);
    if (cut == 0) return;
    log::warn("{}: {} cut at data.length {}", name, format_counted(cut, "text"), length);
  }
};

std::vector<Prediction> predict(const TrainedClassifier& trained, const Targets& targets,
                                const std::vector<TextLine>& lines, bool pairs, Answers& answers) {
  if (lines.empty()) return {};
  std::vector<EncodedText> texts;
  for (const TextLine& line : lines) {
    std::optional<std::string_view> second;
    if (pairs) second = line.second;
    texts.push_back(
        encode_text(*trained.tokenizer, line.first, second, trained.settings.data.length));
    answers.cut += texts.back().cut;
  }
  answers.texts += std::ssize(texts);
  return predictions_of(targets, trained.model->predict(texts));
}

nlohmann::ordered_json label_json(const Targets& targets, const Prediction& prediction) {
  if (targets.is_regression()) return prediction.score;
  if (targets.kind == TargetKind::single) return prediction_text(targets.names, prediction);
  nlohmann::ordered_json labels = nlohmann::ordered_json::array();
  for (const std::int64_t label : prediction.labels) {
    labels.push_back(targets.names[static_cast<std::size_t>(label)]);
  }
  return labels;
}

void add_probabilities(const Targets& targets, const Prediction& prediction,
                       nlohmann::ordered_json& object) {
  if (targets.names.empty()) return;
  nlohmann::ordered_json probabilities = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < targets.names.size(); ++i) {
    probabilities[targets.names[i]] = prediction.probabilities[i];
  }
  object["probabilities"] = std::move(probabilities);
}

std::string line_of(const nlohmann::ordered_json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string joined(const std::vector<std::string>& cells, TextFormat format) {
  std::string row;
  for (const std::string& cell : cells) {
    if (!row.empty() || &cell != &cells.front()) row += format == TextFormat::csv ? ',' : '\t';
    row += format == TextFormat::csv ? csv_cell(cell) : as_one_cell(cell);
  }
  return row + '\n';
}

// GLUE: the label, the probability of each class and the texts.

nlohmann::ordered_json glue_json(const Targets& targets, bool pairs, const TextLine& line,
                                 const Prediction& prediction) {
  nlohmann::ordered_json object;
  object[targets.is_regression() ? "score" : "label"] = label_json(targets, prediction);
  add_probabilities(targets, prediction, object);
  object[pairs ? "sentence1" : "sentence"] = line.first;
  if (pairs) object["sentence2"] = line.second;
  return object;
}

std::string glue_header(const Targets& targets, bool pairs) {
  std::vector<std::string> cells{targets.is_regression() ? "score" : "label"};
  for (const std::string& name : targets.names) cells.push_back("p(" + name + ")");
  cells.emplace_back(pairs ? "sentence1" : "sentence");
  if (pairs) cells.emplace_back("sentence2");
  return joined(cells, TextFormat::tsv);
}

std::string glue_row(const Targets& targets, bool pairs, const TextLine& line,
                     const Prediction& prediction) {
  std::vector<std::string> cells{prediction_text(targets.names, prediction)};
  for (const double probability : prediction.probabilities) {
    cells.push_back(fmt::format("{:.4f}", probability));
  }
  cells.push_back(line.first);
  if (pairs) cells.push_back(line.second);
  return joined(cells, TextFormat::tsv);
}

void predict_glue_texts(const TrainedClassifier& trained, const Targets& targets,
                        const PredictionRequest& request) {
  LineReader reader(request.file, LineReader::kAnyLength);
  const GlueTaskFacts& columns = glue_task_facts(trained.settings.glue.task);
  const TextLineOptions lines{.pairs = columns.pairs,
                              .first = columns.first,
                              .second = columns.second,
                              .format = text_format(request.format),
                              .skip_broken = request.skip_broken};
  Answers answers;
  bool begun = false;
  read_text_lines(reader, lines, kLinesAtATime, [&](const std::vector<TextLine>& chunk) {
    std::vector<TextLine> with_text;
    std::ranges::copy_if(chunk, std::back_inserter(with_text), &TextLine::has_text);
    const std::vector<Prediction> predictions =
        predict(trained, targets, with_text, columns.pairs, answers);
    std::string text;
    // Prints the header only after the first valid line.
    if (!std::exchange(begun, true) && !request.json) text = glue_header(targets, columns.pairs);
    auto prediction = predictions.begin();
    for (const TextLine& line : chunk) {
      if (!line.has_text) {
        text += '\n';
        continue;
      }
      text += request.json ? line_of(glue_json(targets, columns.pairs, line, *prediction))
                           : glue_row(targets, columns.pairs, line, *prediction);
      ++prediction;
    }
    request.print(text);
  });
  reader.warn_of_replaced();
  answers.warn(reader.name(), trained.settings.data.length);
}

// Labelled files: the columns of the input, the predicted label and the probability of each class.

constexpr const char* kPredicted = "predicted";

class TablePredictions {
 public:
  TablePredictions(const TrainedClassifier& trained, const Targets& targets,
                   const PredictionRequest& request)
      : trained_(trained),
        targets_(targets),
        request_(request),
        table_(request.file, {.format = text_format(request.format),
                              .header = trained.settings.data.header,
                              .skip_broken = request.skip_broken,
                              .expected = usual_text_names(trained.settings.classification)}),
        names_(table_.names()) {
    if (table_.is_plain()) {
      if (names_.size() > 1) columns_.second = 1;
      names_ = names_.size() == 1 ? std::vector<std::string>{"text"}
                                  : std::vector<std::string>{"sentence1", "sentence2"};
      if (table_.names().size() > 2) {
        throw_failure(table_.location(), "has more than two columns and no line of their names",
                      "a line with the names of the columns at the top of the file");
      }
    } else {
      columns_ = text_columns(table_, trained.settings.classification);
    }
    json_ = request.json || table_.is_json();
    format_ = table_.format();
  }

  void write() {
    bool more = table_.next();
    if (!json_ && more) request_.print(header());
    while (more) {
      for (; more && rows_.size() < kLinesAtATime; more = table_.next()) take();
      flush();
    }
    table_.lines().warn_of_replaced();
    answers_.warn(table_.lines().name(), trained_.settings.data.length);
  }

 private:
  struct Row {
    std::vector<std::string> cells;
    nlohmann::ordered_json object;
    bool has_text = true;
  };

  const TrainedClassifier& trained_;
  const Targets& targets_;
  const PredictionRequest& request_;
  TableReader table_;
  std::vector<std::string> names_;
  TextColumns columns_;
  bool json_ = false;
  TextFormat format_ = TextFormat::tsv;
  std::vector<Row> rows_;
  std::vector<TextLine> lines_;
  Answers answers_;

  std::string header() const {
    std::vector<std::string> cells = names_;
    cells.emplace_back(kPredicted);
    for (const std::string& name : targets_.names) cells.push_back("p(" + name + ")");
    return joined(cells, format_);
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
      row.cells = table_.row();
      for (std::size_t i = 0; i < names_.size() && json_; ++i) row.object[names_[i]] = row.cells[i];
    }
    lines_.push_back({.first = table_.text(columns_.first)});
    if (columns_.second) lines_.back().second = table_.text(*columns_.second);
    rows_.push_back(std::move(row));
  }

  void flush() {
    const std::vector<Prediction> predictions =
        predict(trained_, targets_, lines_, columns_.second.has_value(), answers_);
    std::string text;
    auto prediction = predictions.begin();
    for (Row& row : rows_) {
      text += row.has_text ? answer(row, *prediction++) : "\n";
    }
    request_.print(text);
    rows_.clear();
    lines_.clear();
  }

  std::string answer(Row& row, const Prediction& prediction) const {
    if (json_) {
      row.object[kPredicted] = label_json(targets_, prediction);
      add_probabilities(targets_, prediction, row.object);
      return line_of(row.object);
    }
    row.cells.push_back(prediction_text(targets_.names, prediction));
    for (const double probability : prediction.probabilities) {
      row.cells.push_back(fmt::format("{:.4f}", probability));
    }
    return joined(row.cells, format_);
  }
};

// All of the server's files in the folder, whichever run made them.
void zip_submission(const fs::path& folder, const PredictionRequest& request) {
  std::vector<ZipMember> members;
  for (std::size_t task = 0; task < Words<GlueTask>::texts.size(); ++task) {
    for (const auto& [split, name] : glue_task_facts(static_cast<GlueTask>(task)).submissions()) {
      if (!is_present(folder / name)) continue;
      members.push_back({.name = name, .contents = read_file(folder / name)});
    }
  }
  write_zip(folder / "submission.zip", members);
  request.print(
      fmt::format("{}: {} files\n", (folder / "submission.zip").string(), members.size()));
}

void write_submission(const TrainedClassifier& trained, const Targets& targets,
                      const PredictionRequest& request) {
  make_directories(request.output);
  Settings settings = trained.settings;
  settings.data.directory = request.glue;
  const GlueTask task = settings.glue.task;
  std::vector<ZipMember> written;
  for (const auto& [split, name] : glue_task_facts(task).submissions()) {
    const EncodedSet set = load_glue_set(settings, *trained.tokenizer, split);
    const std::vector<Prediction> predictions = predictions_of(
        targets, predict_with_bar(*trained.model, set.texts, "classifying", "texts"));
    written.push_back(
        {.name = name, .contents = glue_submission(task, set.source.examples, predictions)});
    request.print(fmt::format("{}: {} predictions\n", name, format_count(std::ssize(predictions))));
  }
  for (const ZipMember& file : written) {
    write_file_atomically(fs::path(request.output) / file.name, file.contents);
  }
  zip_submission(request.output, request);
}

}  // namespace

void predict_labels(OpenedRun run, const PredictionRequest& request) {
  const TrainedClassifier trained(std::move(run));
  const Targets targets = targets_of(trained.settings);
  if (!request.glue.empty()) {
    write_submission(trained, targets, request);
  } else if (trained.settings.task == TaskKind::glue) {
    predict_glue_texts(trained, targets, request);
  } else {
    TablePredictions(trained, targets, request).write();
  }
}

}  // namespace roformer
