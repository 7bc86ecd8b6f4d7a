// `roformer predict`: writes the answers of a trained model to new texts, and the files for the
// GLUE server.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/trained_model_flags.h"
#include "config/words.h"

namespace roformer {
namespace {

struct PredictOptions {
  std::string model;
  TrainedModelOptions opening;
  PredictionRequest request;
};

[[noreturn]] void refuse_task(const std::string& model, const TaskDefinition& task) {
  std::vector<std::string> tasks;
  for (const TaskDefinition& other : task_definitions()) {
    if (other.predict != nullptr) tasks.push_back(to_word(other.task));
  }
  throw_usage(
      model, fmt::format("predicts nothing for new texts: it is the run of a {}", task.noun),
      task.instead_of_predict.empty() ? fmt::format("a run with task {}", fmt::join(tasks, " or "))
                                      : fmt::format(fmt::runtime(task.instead_of_predict), model));
}

void predict_command(const PredictOptions& options) {
  PredictionRequest request = options.request;
  if (!request.glue.empty() && request.file != "-") {
    throw_usage("--glue", "predicts the benchmark's test files, not " + request.file);
  }
  const TaskDefinition& task = definition_of_run(options.model, options.opening.checkpoint);
  if (task.predict == nullptr) refuse_task(options.model, task);
  if (!request.glue.empty() && std::ranges::count(task.predict_flags, "--glue") == 0) {
    throw_usage("--glue",
                fmt::format("is not for the run of a {}, as {} is", task.noun, options.model));
  }
  for (const char* const format : {"csv", "conll", "text"}) {
    const std::string flag = std::string("--format ") + format;
    if (request.format != format || std::ranges::count(task.predict_flags, flag) > 0) continue;
    throw_usage(flag,
                fmt::format("is not for the run of a {}, as {} is", task.noun, options.model));
  }
  request.print = [](std::string_view text) { std::cout << text << std::flush; };
  task.predict(open_run(options.model, options.opening), request);
}

}  // namespace

void add_predict_command(CLI::App& program) {
  auto options = std::make_shared<PredictOptions>();
  PredictionRequest& request = options->request;
  request.output = "glue_submission";
  CLI::App* command = add_listed_command(
      program, "predict",
      "roformer predict runs/sst2 reviews.txt\n"
      "One text per line, pairs with a tab between, or CSV, TSV and JSON lines with named\n"
      "columns. Prints them with the columns of the answers after them. Without FILE,\n"
      "standard input; it may be compressed. A line in, a line out: a blank line is\n"
      "answered by an empty one, blank lines at the end are ignored.\n"
      "A matcher reads triplets (A, B, C) or pairs, as JSON lines or TSV: the file's\n"
      "ending (.jsonl), its first line or --format tells which.\n"
      "A tagger reads CoNLL columns, JSON lines with \"tokens\", or a sentence per line with\n"
      "spaces between its words. It returns them with tags and probabilities added.\n"
      "An embedder answers pairs with their cosine.\n"
      "  --glue GLUE_DIR --output FOLDER writes the test predictions as the benchmark's\n"
      "  server takes them; runs of several tasks may share the folder.\n");
  command->add_option("run", options->model, "folder of a run or of a checkpoint")->required();
  command->add_option("file", request.file, "texts; - or nothing: standard input");
  add_opening_flags(*command, options->opening);
  CLI::Option* format =
      command
          ->add_option("--format", request.format,
                       "format of the texts: auto, tsv, jsonl or csv; for a tagger conll or text")
          ->check(CLI::IsMember({"auto", "tsv", "jsonl", "csv", "conll", "text"}))
          ->capture_default_str();
  CLI::Option* skip_broken =
      command->add_flag("--skip-broken", request.skip_broken,
                        "answer a JSON line that is no object by an empty line");
  CLI::Option* json = command->add_flag("--json", request.json, "one JSON object per line");
  CLI::Option* glue =
      command->add_option("--glue", request.glue, "predict the test set of this GLUE folder")
          ->excludes(json)
          ->excludes(format)
          ->excludes(skip_broken);
  command->add_option("--output", request.output, "folder for the files of --glue")
      ->needs(glue)
      ->capture_default_str();
  accept_settings(*command, options->opening.overrides, trained_model_flags());
  command->callback([options] { predict_command(*options); });
}

}  // namespace roformer
