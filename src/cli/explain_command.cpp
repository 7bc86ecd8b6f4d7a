// `roformer explain`: shows which information the attention of one or two trained models uses.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include "analysis/explain.h"
#include "analysis/explain_report.h"
#include "base/error.h"
#include "base/file.h"
#include "base/origin.h"
#include "base/output_folder.h"
#include "cli/command.h"
#include "cli/split_flag.h"
#include "cli/trained_model_flags.h"
#include "tasks/language/language_model.h"
#include "tasks/stored_data.h"
#include "tasks/translation/translator.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

struct ExplainFlags {
  std::vector<std::string> runs;
  TrainedModelOptions opening;
  std::string data;
  std::string output = "explain";
  ExplainOptions options;
  bool without_losses = false;
  bool json = false;
  bool overwrite = false;
};

using Explaining = std::function<ExplainedRun(const std::string& name)>;

// Makes a function that later explains an opened model on its data.
template <typename Model, typename Data>
Explaining explaining(const ExplainFlags& flags, Model model, Data data) {
  const auto opened = std::make_shared<Model>(std::move(model));
  const auto texts = std::make_shared<Data>(std::move(data));
  return [&flags, opened, texts](const std::string& name) {
    prepare_threads(opened->settings.threads);
    return explain_run(name, *opened, *texts, flags.options);
  };
}

Explaining open_one(const ExplainFlags& flags, const std::string& run) {
  TrainedModelOptions opening = flags.opening;
  opening.among_others = flags.runs.size() > 1;
  if (task_facts(definition_of_run(run, opening.checkpoint).task).has_decoder) {
    TrainedTranslator opened = open_run_of<Translator>(run, opening);
    require_explainable(opened.settings, run);
    ParallelDataset pairs = open_stored_pairs(flags.data, opened);
    return explaining(flags, std::move(opened), std::move(pairs));
  }
  TrainedModel opened = open_run_of<LanguageModel>(run, opening);
  require_explainable(opened.settings, run);
  Dataset text = open_stored_text(flags.data, opened);
  return explaining(flags, std::move(opened), std::move(text));
}

// The names of the folders, or their paths if the names are the same.
std::vector<std::string> names_of(const std::vector<std::string>& runs) {
  std::vector<std::string> names;
  for (const std::string& run : runs) names.push_back(folder_name(run));
  if (names.size() > 1 && names[0] == names[1]) return runs;
  return names;
}

void explain_command(ExplainFlags flags) {
  if (flags.runs.size() > 2) {
    throw_usage("explain", fmt::format("{} runs are given", flags.runs.size()),
                "one, or two to be shown side by side");
  }
  if (flags.runs.size() == 2 &&
      fs::weakly_canonical(flags.runs[0]) == fs::weakly_canonical(flags.runs[1])) {
    throw_usage(flags.runs[1], "is the same run twice", "two different ones, or one alone");
  }
  OutputFolder output({.output = flags.output,
                       .overwrite = flags.overwrite,
                       .flag = "--output",
                       .contents = "an explanation and nothing else",
                       .is_replaceable = holds_only_explanation});
  for (const std::string& run : flags.runs) {
    const bool translates =
        task_facts(definition_of_run(run, flags.opening.checkpoint).task).has_decoder;
    if (flags.options.length == 0 || !translates) continue;
    throw_usage("--length", run + " is a translator's run: its texts are whole sentences");
  }
  flags.options.ablations = !flags.without_losses;
  const std::vector<std::string> names = names_of(flags.runs);
  std::vector<Explaining> opened;  // opens all before computing the first
  for (const std::string& run : flags.runs) opened.push_back(open_one(flags, run));
  std::vector<ExplainedRun> explained;
  for (std::size_t i = 0; i < opened.size(); ++i) explained.push_back(opened[i](names[i]));
  const std::vector<std::string> files =
      write_explanations(output.path(), explained, this_program().footer());
  output.commit();
  if (flags.json) {
    std::cout << to_json(explained).dump(2) << '\n';
    return;
  }
  for (const std::string& file : files) {
    std::cout << (fs::path(flags.output) / file).string() << '\n';
  }
}

}  // namespace

void add_explain_command(CLI::App& program) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App* command = add_listed_command(
      program, "explain",
      "roformer explain runs/study/rope runs/study/t5 --output explained\n"
      "Writes report.html and CSV files: for each head what its scores depend on (contents, "
      "positions or both), where it looks, which rotary frequencies it uses, and the loss when its "
      "positions are switched off. Explains language models and both stacks of translators.\n");
  command->add_option("runs", flags->runs, "folder of a run or of a checkpoint; two: side by side")
      ->required();
  command->add_option("--output", flags->output, "the folder that is written")
      ->capture_default_str();
  add_opening_flags(*command, flags->opening);
  command->add_option("--data", flags->data, "another prepared set (same tokenizer)");
  add_split_option(*command, flags->options.split);
  command
      ->add_option("--sequences", flags->options.sequences,
                   "rows of text, or sentence pairs, to analyse")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--length", flags->options.length, "tokens of a row; default: as trained")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40));
  command->add_flag(
      "--without-losses", flags->without_losses,
      "leave out the losses without positions, which take one pass over the texts for "
      "each head");
  command->add_flag("--overwrite", flags->overwrite, "replace an explanation that is there");
  command->add_flag("--json", flags->json, "print the numbers as one JSON object, too");
  accept_settings(*command, flags->opening.overrides, trained_model_flags());
  command->callback([flags] { explain_command(*flags); });
}

}  // namespace roformer
