// `roformer predict` for a classifier: the labels of new texts, and for a GLUE task the files for
// the benchmark's server.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "config/words.h"
#include "data/zip.h"
#include "tasks/answered_texts.h"
#include "tasks/classification/classification_figures.h"
#include "tasks/classification/classification_task.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

nlohmann::ordered_json label_json(const Targets& targets, const Prediction& prediction) {
  if (targets.is_regression()) return prediction.score;
  if (targets.kind == TargetKind::single) return prediction_text(targets.names, prediction);
  nlohmann::ordered_json labels = nlohmann::ordered_json::array();
  for (const std::int64_t label : prediction.labels) {
    labels.push_back(targets.names[static_cast<std::size_t>(label)]);
  }
  return labels;
}

constexpr const char* kPredicted = "predicted";

// The label, and the probability of each class.
TextAnswer text_answer(const Targets& targets, const Prediction& prediction) {
  TextAnswer answer{.cells = {prediction_text(targets.names, prediction)}};
  for (const double probability : prediction.probabilities) {
    answer.cells.push_back(fmt::format("{:.4f}", probability));
  }
  answer.fields[kPredicted] = label_json(targets, prediction);
  if (targets.names.empty()) return answer;
  nlohmann::ordered_json& probabilities = answer.fields["probabilities"];
  for (std::size_t i = 0; i < targets.names.size(); ++i) {
    probabilities[targets.names[i]] = prediction.probabilities[i];
  }
  return answer;
}

struct NamedTexts {
  std::string first, second;
};

// The names of a GLUE task's text columns: in its own files, in Hugging Face's data sets, and the
// usual ones.
std::vector<NamedTexts> glue_texts(const GlueTaskFacts& facts) {
  std::vector<NamedTexts> names{{facts.first, facts.second}};
  if (!facts.hub_first.empty()) names.push_back({facts.hub_first, facts.hub_second});
  names.push_back(facts.pairs ? NamedTexts{"sentence1", "sentence2"} : NamedTexts{"sentence", ""});
  return names;
}

TextColumns glue_columns(const TableReader& table, const GlueTaskFacts& facts) {
  const std::vector<NamedTexts> all = glue_texts(facts);
  for (const NamedTexts& names : all) {
    if (!table.has(names.first) || (facts.pairs && !table.has(names.second))) continue;
    TextColumns columns{.first = table.column(names.first, "glue.task")};
    if (facts.pairs) columns.second = table.column(names.second, "glue.task");
    return columns;
  }
  const NamedTexts& usual = all.back();
  throw_failure(table.location(),
                facts.pairs ? fmt::format("has no columns {} and {}", usual.first, usual.second)
                            : fmt::format("has no column {}", usual.first),
                "add a header line with the column names");
}

TextQuestions glue_questions(const GlueTaskFacts& facts) {
  TextQuestions questions{
      .find_columns = [&facts](const TableReader& table) { return glue_columns(table, facts); }};
  for (const NamedTexts& names : glue_texts(facts)) {
    for (const std::string& name : {names.first, names.second}) {
      if (!name.empty()) questions.usual_names.push_back(name);
    }
  }
  (facts.pairs ? questions.pair : questions.single) =
      facts.pairs ? std::vector<std::string>{"sentence1", "sentence2"}
                  : std::vector<std::string>{"sentence"};
  return questions;
}

TextQuestions questions_of_files(const ClassificationSettings& settings) {
  TextQuestions questions{
      .usual_names = usual_text_names(settings),
      .find_columns = [&settings](const auto& table) { return text_columns(table, settings); }};
  // Without names in the settings the texts may be either.
  if (settings.text.size() != 2) questions.single = {"text"};
  if (settings.text.size() != 1) questions.pair = {"sentence1", "sentence2"};
  return questions;
}

void predict_texts(const TrainedClassifier& trained, const Targets& targets,
                   const PredictionRequest& request) {
  const Settings& settings = trained.settings;
  TextQuestions questions = settings.task == TaskKind::glue
                                ? glue_questions(glue_task_facts(settings.glue.task))
                                : questions_of_files(settings.classification);
  questions.columns = {kPredicted};
  for (const std::string& name : targets.names) questions.columns.push_back("p(" + name + ")");
  questions.answer = [&](const std::vector<GivenText>& given, std::int64_t& cut) {
    std::vector<EncodedText> texts;
    for (const GivenText& text : given) {
      texts.push_back(
          encode_text(*trained.tokenizer, text.first, text.second, settings.data.length));
      cut += texts.back().cut;
    }
    std::vector<TextAnswer> answers;
    for (const Prediction& prediction : predictions_of(targets, trained.model->predict(texts))) {
      answers.push_back(text_answer(targets, prediction));
    }
    return answers;
  };
  answer_texts(questions, settings, request);
}

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
  } else {
    predict_texts(trained, targets, request);
  }
}

}  // namespace roformer
