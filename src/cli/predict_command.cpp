// `roformer predict`: a classifier's labels for new texts, and the files for the GLUE server.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/matching_commands.h"
#include "cli/trained_model_flags.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/line_reader.h"
#include "data/zip.h"
#include "runs/classifier_classes.h"
#include "runs/glue_prediction.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct PredictOptions {
  std::string model;
  std::string file = "-";
  std::string checkpoint = "best";
  std::optional<WeightsKind> weights;
  std::string format = "auto";
  std::string glue;
  std::string output = "glue_submission";
  bool skip_broken = false;
  bool json = false;
  std::vector<Override> overrides;
};

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

// A text of JSON lines may hold what separates the columns and rows here.
std::string in_one_cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

void print_header(const GlueSettings& settings) {
  const GlueTaskFacts& facts = glue_task_facts(settings.task);
  std::string header = facts.is_regression() ? "score" : "label";
  for (const std::string& name : class_names(settings)) {
    header += "\tp(" + in_one_cell(name) + ")";
  }
  std::cout << header << (facts.pairs ? "\tsentence1\tsentence2\n" : "\tsentence\n");
}

void print_row(const GlueSettings& settings, const TextLine& line,
               const GluePrediction& prediction) {
  std::string row = in_one_cell(prediction_text(settings, prediction));
  for (const double probability : prediction.probabilities) {
    row += fmt::format("\t{:.4f}", probability);
  }
  row += "\t" + in_one_cell(line.first);
  if (glue_task_facts(settings.task).pairs) row += "\t" + in_one_cell(line.second);
  std::cout << row << '\n';
}

void predict_texts(const PredictOptions& options, const TrainedClassifier& trained) {
  const GlueSettings& settings = trained.settings.glue;
  LineReader reader(options.file, LineReader::kAnyLength);
  const GlueTaskFacts& columns = glue_task_facts(settings.task);
  const TextLineOptions lines{.pairs = glue_task_facts(settings.task).pairs,
                              .first = columns.first,
                              .second = columns.second,
                              .format = text_format(options.format),
                              .skip_broken = options.skip_broken};
  std::int64_t texts = 0, cut = 0;
  bool begun = false;
  read_text_lines(reader, lines, kLinesAtATime, [&](const std::vector<TextLine>& chunk) {
    std::vector<TextLine> with_text;
    std::ranges::copy_if(chunk, std::back_inserter(with_text), &TextLine::has_text);
    std::vector<GluePrediction> predictions;
    if (!with_text.empty()) predictions = predict_lines(trained, with_text);
    // Not before a line was understood.
    if (!std::exchange(begun, true) && !options.json) print_header(settings);
    texts += std::ssize(with_text);
    auto prediction = predictions.begin();
    for (const TextLine& line : chunk) {
      if (!line.has_text) {
        std::cout << '\n';
        continue;
      }
      cut += prediction->cut ? 1 : 0;
      if (options.json) {
        std::cout << to_json(settings, line, *prediction)
                         .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                  << '\n';
      } else {
        print_row(settings, line, *prediction);
      }
      ++prediction;
    }
    std::cout << std::flush;
  });
  reader.warn_of_replaced();
  if (texts == 0) log::warn("{}: there is no text in it", reader.name());
  if (cut > 0) {
    log::warn("{}: {} texts are longer than data.length {} and were cut", reader.name(),
              format_count(cut), trained.settings.data.length);
  }
}

// All of the server's files that lie in the folder, whichever run made them.
void zip_submission(const fs::path& folder) {
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
  fmt::print("{}: {} files\n", (folder / "submission.zip").string(), members.size());
}

void write_submission(const PredictOptions& options, const TrainedClassifier& trained) {
  make_directories(options.output);
  Settings settings = trained.settings;
  settings.data.directory = options.glue;
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
        task, trained.classifier->predict(set.texts, [&](std::int64_t done, std::int64_t of) {
          bar.advance_to(static_cast<std::uint64_t>(texts * done / of));
        }));
    bar.clear();
    written.push_back(
        {.name = name, .contents = glue_submission(task, set.source.examples, predictions)});
    fmt::print("{}: {} predictions\n", name, format_count(std::ssize(predictions)));
  }
  for (const ZipMember& file : written) {
    write_file_atomically(fs::path(options.output) / file.name, file.contents);
  }
  zip_submission(options.output);
}

void predict_command(const PredictOptions& options) {
  if (!options.glue.empty() && options.file != "-") {
    throw_usage("--glue", "predicts the benchmark's test files, not " + options.file);
  }
  const TrainedModelOptions opening{
      .checkpoint = options.checkpoint, .weights = options.weights, .overrides = options.overrides};
  if (task_of_run(options.model, options.checkpoint).matches) {
    if (!options.glue.empty()) throw_usage("--glue", "is for the run of a GLUE task");
    predict_matches(open_trained_matcher(options.model, opening),
                    {.file = options.file,
                     .format = options.format,
                     .skip_broken = options.skip_broken,
                     .json = options.json});
    return;
  }
  const TrainedClassifier trained = open_trained_classifier(options.model, opening);
  if (options.glue.empty()) {
    predict_texts(options, trained);
  } else {
    write_submission(options, trained);
  }
}

}  // namespace

void add_predict_command(CLI::App& program) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App* command = add_listed_command(
      program, "predict",
      "roformer predict runs/sst2 reviews.txt\n"
      "One text a line, pairs with a tab between, or JSON lines with \"sentence\" or\n"
      "\"sentence1\" and \"sentence2\". Without FILE, standard input; it may be\n"
      "compressed. A line in, a line out: a blank line is answered by an empty one,\n"
      "blank lines at the end are ignored.\n"
      "Of a matcher: triplets (A, B, C) or pairs, JSON lines or TSV, by the file's\n"
      "ending (.jsonl), its first line or --format.\n"
      "  --glue GLUE_DIR --output FOLDER writes the test predictions as the benchmark's\n"
      "  server takes them; runs of several tasks may share the folder.\n");
  command->add_option("run", options->model, "folder of a run or of a checkpoint")->required();
  command->add_option("file", options->file, "texts; - or nothing: standard input");
  command->add_option("--checkpoint", options->checkpoint, "best, last or a step")
      ->capture_default_str();
  add_weights_option(*command, options->weights);
  CLI::Option* format =
      command->add_option("--format", options->format, "of the texts: auto, tsv or jsonl")
          ->check(CLI::IsMember({"auto", "tsv", "jsonl"}))
          ->capture_default_str();
  CLI::Option* skip_broken =
      command->add_flag("--skip-broken", options->skip_broken,
                        "answer a line of JSON lines that is no object by an empty line");
  CLI::Option* json = command->add_flag("--json", options->json, "one JSON object a line");
  CLI::Option* glue =
      command->add_option("--glue", options->glue, "predict the test set of this GLUE folder")
          ->excludes(json)
          ->excludes(format)
          ->excludes(skip_broken);
  command->add_option("--output", options->output, "folder for the files of --glue")
      ->needs(glue)
      ->capture_default_str();
  accept_settings(*command, options->overrides, trained_model_flags());
  command->callback([options] { predict_command(*options); });
}

}  // namespace roformer
