// `roformer predict` for a run of a GLUE task: the labels of new texts, and the files for the
// benchmark's server.
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
#include "data/zip.h"
#include "tasks/classification/classifier_classes.h"
#include "tasks/classification/glue_figures.h"
#include "tasks/classification/glue_task.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLinesAtATime = 4096;

nlohmann::ordered_json to_json(const GlueSettings& settings, const TextLine& line,
                               const GluePrediction& prediction) {
  const GlueTaskFacts& facts = glue_task_facts(settings.task);
  nlohmann::ordered_json object;
  if (facts.is_regression()) {
    object["score"] = prediction.score;
  } else {
    const std::vector<std::string> names = class_names(settings);
    object["label"] = prediction_text(settings, prediction);
    for (std::size_t i = 0; i < names.size(); ++i) {
      object["probabilities"][names[i]] = prediction.probabilities[i];
    }
  }
  object[facts.pairs ? "sentence1" : "sentence"] = line.first;
  if (facts.pairs) object["sentence2"] = line.second;
  return object;
}

// Replaces tabs and line ends inside a text of JSON lines, since they separate the columns and rows
// here.
std::string in_one_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string header(const GlueSettings& settings) {
  const GlueTaskFacts& facts = glue_task_facts(settings.task);
  std::string line = facts.is_regression() ? "score" : "label";
  for (const std::string& name : class_names(settings)) {
    line += "\tp(" + in_one_cell(name) + ")";
  }
  return line + (facts.pairs ? "\tsentence1\tsentence2\n" : "\tsentence\n");
}

std::string row_of(const GlueSettings& settings, const TextLine& line,
                   const GluePrediction& prediction) {
  std::string row = in_one_cell(prediction_text(settings, prediction));
  for (const double probability : prediction.probabilities) {
    row += fmt::format("\t{:.4f}", probability);
  }
  row += "\t" + in_one_cell(line.first);
  if (glue_task_facts(settings.task).pairs) row += "\t" + in_one_cell(line.second);
  return row + '\n';
}

void predict_texts(const TrainedClassifier& trained, const PredictionRequest& request) {
  const GlueSettings& settings = trained.settings.glue;
  LineReader reader(request.file, LineReader::kAnyLength);
  const GlueTaskFacts& columns = glue_task_facts(settings.task);
  const TextLineOptions lines{.pairs = glue_task_facts(settings.task).pairs,
                              .first = columns.first,
                              .second = columns.second,
                              .format = text_format(request.format),
                              .skip_broken = request.skip_broken};
  std::int64_t texts = 0, cut = 0;
  bool begun = false;
  read_text_lines(reader, lines, kLinesAtATime, [&](const std::vector<TextLine>& chunk) {
    std::vector<TextLine> with_text;
    std::ranges::copy_if(chunk, std::back_inserter(with_text), &TextLine::has_text);
    std::vector<GluePrediction> predictions;
    if (!with_text.empty()) predictions = predict_lines(trained, with_text);
    std::string answers;
    // Prints the header only after the first valid line.
    if (!std::exchange(begun, true) && !request.json) answers = header(settings);
    texts += std::ssize(with_text);
    auto prediction = predictions.begin();
    for (const TextLine& line : chunk) {
      if (!line.has_text) {
        answers += '\n';
        continue;
      }
      cut += prediction->cut ? 1 : 0;
      answers += request.json
                     ? to_json(settings, line, *prediction)
                               .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                           '\n'
                     : row_of(settings, line, *prediction);
      ++prediction;
    }
    request.print(answers);
  });
  reader.warn_of_replaced();
  if (texts == 0) log::warn("{}: there is no text in it", reader.name());
  if (cut > 0) {
    log::warn("{}: {} texts are longer than data.length {} and were cut", reader.name(),
              format_count(cut), trained.settings.data.length);
  }
}

// All of the server's files in the folder, whichever run made them.
void zip_submission(const fs::path& folder, const PredictionRequest& request) {
  std::vector<ZipMember> members;
  for (std::size_t task = 0; task < Words<GlueTask>::texts.size(); ++task) {
    const GlueTaskFacts& facts = glue_task_facts(static_cast<GlueTask>(task));
    for (const std::string& name : {facts.submission, facts.submission_mismatched}) {
      std::error_code error;
      if (name.empty() || !fs::exists(folder / name, error)) continue;
      members.push_back({.name = name, .contents = read_file(folder / name)});
    }
  }
  write_zip(folder / "submission.zip", members);
  request.print(
      fmt::format("{}: {} files\n", (folder / "submission.zip").string(), members.size()));
}

void write_submission(const TrainedClassifier& trained, const PredictionRequest& request) {
  make_directories(request.output);
  Settings settings = trained.settings;
  settings.data.directory = request.glue;
  const GlueTask task = settings.glue.task;
  const GlueTaskFacts& facts = glue_task_facts(task);
  std::vector<std::pair<GlueSplit, std::string>> files = {{GlueSplit::test, facts.submission}};
  if (!facts.submission_mismatched.empty()) {
    files.emplace_back(GlueSplit::test_mismatched, facts.submission_mismatched);
  }
  std::vector<ZipMember> written;
  for (const auto& [split, name] : files) {
    const GlueSet set = load_glue_set(settings, *trained.tokenizer, split);
    ProgressBar bar("classifying", static_cast<std::uint64_t>(set.texts.size()), "texts");
    const auto texts = std::ssize(set.texts);
    const std::vector<GluePrediction> predictions = glue_predictions(
        task, trained.model->predict(set.texts, [&](std::int64_t done, std::int64_t of) {
          bar.advance_to(static_cast<std::uint64_t>(texts * done / of));
        }));
    bar.clear();
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
  if (request.glue.empty()) {
    predict_texts(trained, request);
  } else {
    write_submission(trained, request);
  }
}

}  // namespace roformer
