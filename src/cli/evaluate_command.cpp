// `roformer evaluate`: measures a trained model on labelled or prepared data, at any length and
// with options that leave its weights unchanged. The run's task decides which flags apply.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/split_flag.h"
#include "cli/trained_model_flags.h"
#include "report/chart.h"
#include "report/table_format.h"
#include "tasks/evaluation.h"
#include "training/signals.h"

namespace roformer {
namespace {

// Prints to standard output, text in the terminal's width. In LaTeX, text between the tables is a
// comment.
class EvaluationPrinter : public EvaluationText {
 public:
  EvaluationPrinter(std::string model, std::string format)
      : model_(std::move(model)), format_(std::move(format)) {}

  void line(const std::string& text) override {
    finish();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::cout << (format_ == "latex" ? "% " : "") << text.substr(begin, end - begin) << '\n';
      begin = end + 1;
    }
  }
  void paragraph(const std::string& text) override {
    line(format_ == "text" ? wrapped(text, terminal_width()) : text);
  }
  void table(const Table& table) override {
    finish();
    std::cout << formatted(table, format_, {.title = "Evaluation of " + model_});
  }
  void row(const Table& expected, std::size_t row) override {
    if (format_ != "text") {
      if (!known_) known_.emplace(expected.columns());
      return known_->add_row(expected.rows()[row]);
    }
    if (!rows_) {
      rows_.emplace(expected, TextTableOptions{.width = terminal_width()});
      std::cout << rows_->head(expected);
    }
    std::cout << rows_->row(expected, row) << std::flush;
  }

  // Prints the rows that have come so far, of a table that does not appear row by row.
  void finish() {
    if (const std::optional<Table> known = std::exchange(known_, std::nullopt)) table(*known);
  }

 private:
  std::string model_;
  std::string format_;
  std::optional<TextTableRows> rows_;
  std::optional<Table> known_;
};

struct EvaluateOptions {
  std::string model;
  TrainedModelOptions opening;
  std::string lengths;
  bool pseudo_perplexity = false;
  std::int64_t sequences = 16;
  bool json = false;
  std::string format = "text";
  EvaluationRequest request;
};

// "128,256" -> {128, 256}
std::vector<std::int64_t> parse_lengths(const std::string& text) {
  std::vector<std::int64_t> lengths;
  const char* begin = text.data();
  const char* const end = text.data() + text.size();
  while (begin < end) {
    std::int64_t length = 0;
    const auto [next, error] = std::from_chars(begin, end, length);
    if (error != std::errc() || length < 2 || (next < end && *next != ',')) {
      throw_usage("--length", "\"" + text + "\" is not a list of lengths",
                  "numbers of tokens from 2 on, as 128,256,512");
    }
    lengths.push_back(length);
    begin = next < end ? next + 1 : end;
  }
  return lengths;
}

// Refuses the flags that mean nothing for the run's task.
void refuse_foreign_flags(const EvaluateOptions& options, const TaskDefinition& task) {
  const EvaluationRequest& request = options.request;
  const ArrangementSettings plain;
  const std::array<std::pair<const char*, bool>, 14> given{{
      {"--data", !request.data.empty()},
      {"--split", request.split != Split::validation},
      {"--against", !request.against.empty()},
      {"--length", !options.lengths.empty()},
      {"--tokens", request.tokens > 0},
      {"--questions", request.questions > 0},
      {"--shift", request.arrangement.shift != plain.shift},
      {"--drop-middle", request.arrangement.drop_middle != plain.drop_middle},
      {"--shuffle-blocks", request.arrangement.shuffle_blocks != plain.shuffle_blocks},
      {"--pseudo-perplexity", options.pseudo_perplexity},
      {"--by-position", request.by_position},
      {"--chart", !request.chart.empty()},
      {"--errors", request.errors > 0},
      {"--output", !request.output.empty()},
  }};
  for (const auto& [flag, is_given] : given) {
    if (!is_given || std::ranges::count(task.evaluate_flags, flag) > 0) continue;
    const auto refused = std::ranges::find(task.refused_flags, flag, &RefusedFlag::flag);
    if (refused != task.refused_flags.end()) {
      throw_usage(flag, fmt::format("is not for a {}'s run: {}", task.noun, refused->reason));
    }
    throw_usage(flag, fmt::format("is not for the run of a {}, as {} is", task.noun, options.model),
                fmt::format("it takes {}, --checkpoint, --weights and --json",
                            fmt::join(task.evaluate_flags, ", ")));
  }
}

OpenedRun open_first_run(const EvaluateOptions& options, const TaskDefinition& task) {
  TrainedModelOptions opening = options.opening;
  opening.overrides.insert(opening.overrides.begin(), task.evaluated_with.begin(),
                           task.evaluated_with.end());
  OpenedRun run = open_run(options.model, opening);
  run.overrides = options.opening.overrides;
  return run;
}

OpenedRun open_other_run(const EvaluateOptions& options, const TaskDefinition& task) {
  TrainedModelOptions opening = options.opening;
  opening.overrides = computing_overrides(opening.overrides);
  return open_run(options.request.against, opening, task.noun);
}

void evaluate_command(const EvaluateOptions& options) {
  EvaluationRequest request = options.request;
  if (!request.chart.empty()) require_chart_name(request.chart);
  for (const std::string& file : {request.chart, request.output}) {
    if (!file.empty()) require_output(file);
  }
  const TaskDefinition& task = definition_of_run(options.model, options.opening.checkpoint);
  refuse_foreign_flags(options, task);
  request.lengths = parse_lengths(options.lengths);
  request.masked_sequences = options.pseudo_perplexity ? options.sequences : 0;
  request.open_other = [&] { return open_other_run(options, task); };
  EvaluationPrinter printer(options.model, options.format);
  if (!options.json && !request.by_position) request.text = &printer;
  const EvaluationResult found = task.evaluate(open_first_run(options, task), request);
  printer.finish();
  // Prints the figures before writing files, because a disk may be full by now.
  if (options.json) {
    std::cout << found.json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    std::cout << found.csv;
  }
  if (found.signal != 0) {
    std::cerr << found.stopped << '\n';
    throw CLI::RuntimeError(kSignalExit + found.signal);
  }
  if (found.write_files) found.write_files();
  for (const std::string& warning : found.warnings) log::warn("{}", warning);
}

}  // namespace

void add_evaluate_command(CLI::App& program) {
  auto options = std::make_shared<EvaluateOptions>();
  EvaluationRequest& request = options->request;
  CLI::App* command = add_listed_command(
      program, "evaluate",
      "roformer evaluate runs/quickstart/rope --against runs/quickstart/learned\n"
      "RUN means its best checkpoint. ± is the standard error of the loss, by the rows of text.\n");
  command->add_option("run", options->model, "folder of a run or of a checkpoint")->required();
  add_opening_flags(*command, options->opening);
  command->add_option(
      "--data", request.data,
      "another prepared set (same tokenizer), GLUE folder or file of labelled examples");
  command->add_option("--against", request.against,
                      "another run on the same targets: the difference of the losses, paired; of "
                      "classifiers, matchers and probes: McNemar's test on the same examples");
  command->add_option("--length", options->lengths,
                      "tokens of a row, several with commas; default: as trained. For a matcher: "
                      "tokens of two texts, one number. For a probe: characters of a question; "
                      "default: those of its validations");
  command
      ->add_option("--questions", request.questions,
                   "questions to a probe at each length; default: as many as in its validations")
      ->check(CLI::Range(1, 100'000'000));
  command
      ->add_option("--tokens", request.tokens,
                   "tokens read at most; default: data.validation_tokens")
      ->check(positive());
  command->add_option("--shift", request.arrangement.shift, "the text begins at this position")
      ->check(not_negative());
  command->add_option("--drop-middle", request.arrangement.drop_middle,
                      "share of each row to take out; the rest keeps its positions");
  command->add_option("--shuffle-blocks", request.arrangement.shuffle_blocks,
                      "cut each row into N blocks and shuffle them");
  CLI::Option* pseudo =
      command->add_flag("--pseudo-perplexity", options->pseudo_perplexity,
                        "mask each token in turn (Salazar 2020); the first length");
  command->add_option("--sequences", options->sequences, "rows for the pseudo-perplexity")
      ->needs(pseudo)
      ->check(positive())
      ->capture_default_str();
  command->add_flag("--by-position", request.by_position, "the loss at each position, as CSV");
  command->add_option(
      "--chart", request.chart,
      "write a chart, FILE.svg, FILE.pdf or FILE.html: loss against length, or by position");
  command
      ->add_option("--errors", request.errors,
                   "show the N most confident mistakes of a classifier or matcher")
      ->check(not_negative());
  add_split_option(*command, request.split);
  command->add_option("--output", request.output,
                      "write the figures as JSON, with the loss at each position, into this file; "
                      "for a translator: its translations");
  command->add_option("--format", options->format, "format of the tables: text, markdown or latex")
      ->check(CLI::IsMember({"text", "markdown", "latex"}))
      ->excludes(command->add_flag("--json", options->json, "one JSON object"));
  accept_settings(*command, options->opening.overrides, trained_model_flags());
  command->callback([options] { evaluate_command(*options); });
}

}  // namespace roformer
