// `roformer evaluate`: the loss of a trained language model on prepared text, at any length, with
// options that leave its weights as they are, and in other arrangements of the text; the metrics of
// a classifier.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/checksummed_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/evaluate_classifier.h"
#include "cli/evaluate_probe.h"
#include "cli/evaluate_translator.h"
#include "cli/evaluation_printer.h"
#include "cli/matching_commands.h"
#include "cli/split_flag.h"
#include "cli/trained_model_flags.h"
#include "config/task_facts.h"
#include "report/html.h"
#include "runs/evaluate_language.h"
#include "training/signals.h"

namespace roformer {
namespace {

struct EvaluateOptions {
  std::string model;
  TrainedModelOptions opening;
  std::string data;
  std::string against;  // another run
  std::string lengths;
  std::int64_t tokens = 0;
  std::int64_t questions = 0;  // of a probe; 0: as in its validations
  ArrangementSettings arrangement;
  bool pseudo_perplexity = false;
  std::int64_t sequences = 16;
  bool by_position = false;
  std::int64_t errors = 0;
  Split split = Split::validation;
  std::string chart;
  std::string output;
  bool json = false;
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

void check_chart(const std::string& file) {
  if (file.empty() || file.ends_with(".svg") || file.ends_with(".html")) return;
  throw_usage("--chart", "\"" + file + "\" is neither .svg nor .html");
}

void write_chart(const std::string& file, const EvaluationReport& report, bool by_position) {
  if (file.ends_with(".svg")) {
    write_file_atomically(InnerPath::named(file),
                          to_svg(by_position ? loss_by_position(report) : loss_by_length(report)));
  } else {
    HtmlReport page({.title = "Evaluation of " + report.model,
                     .subtitle = fmt::format("{} on {} ({}){}", report.position, report.data,
                                             report.split, report.with),
                     .footer = this_program().footer()});
    page.table(to_table(report));
    if (report.lengths.size() > 1) page.chart(loss_by_length(report));
    if (by_position) page.chart(loss_by_position(report));
    write_file_atomically(InnerPath::named(file), page.html());
  }
  log::info("chart: {}", file);
}

std::optional<std::int64_t> one_length(const std::string& text) {
  const std::vector<std::int64_t> lengths = parse_lengths(text);
  if (lengths.size() > 1) throw_usage("--length", "is one number for the run of a matcher");
  return lengths.empty() ? std::nullopt : std::optional(lengths.front());
}

// What is measured of a language model has no meaning for a classifier, and the reverse.
void refuse_foreign_flags(const EvaluateOptions& options, const TaskFacts& facts) {
  struct Kind {
    bool is;
    const char* name;
    std::vector<std::string> takes;  // beside what every run takes
  };
  const std::array kinds{
      Kind{facts.predicts_labels, "a classifier", {"--data", "--errors", "--against"}},
      Kind{facts.translates, "a translator", {"--data", "--split", "--output"}},
      Kind{facts.matches, "a matcher", {"--data", "--split", "--length", "--errors", "--against"}},
      Kind{facts.data == TaskData::generated, "a probe", {"--length", "--questions", "--against"}}};
  const ArrangementSettings plain;
  const std::array<std::pair<const char*, bool>, 13> given{{
      {"--data", !options.data.empty()},
      {"--split", options.split != Split::validation && !facts.predicts_labels},
      {"--against", !options.against.empty()},
      {"--length", !options.lengths.empty()},
      {"--tokens", options.tokens > 0},
      {"--questions", options.questions > 0},
      {"--shift", options.arrangement.shift != plain.shift},
      {"--drop-middle", options.arrangement.drop_middle != plain.drop_middle},
      {"--shuffle-blocks", options.arrangement.shuffle_blocks != plain.shuffle_blocks},
      {"--pseudo-perplexity", options.pseudo_perplexity},
      {"--by-position", options.by_position},
      {"--chart", !options.chart.empty()},
      {"--output", !options.output.empty()},
  }};
  for (const Kind& kind : kinds) {
    if (!kind.is) continue;
    for (const auto& [flag, is_given] : given) {
      if (!is_given || std::ranges::count(kind.takes, flag) > 0) continue;
      throw_usage(flag, fmt::format("is not for the run of {}, as {} is", kind.name, options.model),
                  fmt::format("it takes {}, --checkpoint, --weights and --json",
                              fmt::join(kind.takes, ", ")));
    }
  }
  if (options.questions > 0 && facts.data != TaskData::generated) {
    throw_usage("--questions", "is for the run of a probe; " + options.model + " is none");
  }
  if (facts.predicts_labels && options.split != Split::validation) {
    throw_usage("--split",
                "is not for a classifier's run: the labels of GLUE's test sets are secret");
  }
  if (options.pseudo_perplexity && options.by_position) {
    throw_usage("--pseudo-perplexity", "is of whole texts, and --by-position prints places of them",
                "one of the two");
  }
  if (!facts.predicts_labels && !facts.matches && options.errors > 0) {
    throw_usage("--errors", "is for the run of a classifier; " + options.model + " is none");
  }
}

// A training may decode a part of its validation set; what is said of a set is of all of it.
void evaluate_translator_run(const EvaluateOptions& options) {
  TrainedModelOptions opening = options.opening;
  opening.overrides.insert(opening.overrides.begin(), {.key = "decoding.sentences", .text = "0"});
  TrainedTranslator trained = open_trained_translator(options.model, opening);
  trained.overrides = options.opening.overrides;
  evaluate_translator(trained, {.data = options.data,
                                .split = options.split,
                                .output = options.output,
                                .json = options.json});
}

void evaluate_command(const EvaluateOptions& options) {
  check_chart(options.chart);
  for (const std::string& file : {options.chart, options.output}) {
    if (!file.empty()) require_output(file);
  }
  const TaskFacts& facts = task_of_run(options.model, options.opening.checkpoint);
  refuse_foreign_flags(options, facts);
  if (facts.translates) return evaluate_translator_run(options);
  if (facts.predicts_labels) {
    return evaluate_classifier(open_trained_classifier(options.model, options.opening),
                               {.data = options.data,
                                .against = options.against,
                                .opening = options.opening,
                                .errors = options.errors,
                                .json = options.json});
  }
  if (facts.matches) {
    return evaluate_matcher(open_trained_matcher(options.model, options.opening),
                            {.data = options.data,
                             .split = options.split,
                             .length = one_length(options.lengths),
                             .against = options.against,
                             .opening = options.opening,
                             .errors = options.errors,
                             .json = options.json});
  }
  if (facts.data == TaskData::generated) {
    return evaluate_probe(open_trained_probe(options.model, options.opening),
                          {.lengths = parse_lengths(options.lengths),
                           .questions = options.questions,
                           .against = options.against,
                           .opening = options.opening,
                           .json = options.json});
  }
  ROFORMER_ASSERT(facts.evaluates_text);
  EvaluationPrinter printer;
  LanguageEvaluationRequest request{
      .model = options.model,
      .opening = options.opening,
      .against = options.against,
      .data = options.data,
      .split = options.split,
      .lengths = parse_lengths(options.lengths),
      .tokens = options.tokens,
      .arrangement = options.arrangement,
      .masked_sequences = options.pseudo_perplexity ? options.sequences : 0};
  if (!options.json && !options.by_position) {
    request.on_row = [&](const EvaluationReport& so_far, const EvaluationReport& expected) {
      printer.print_row(so_far, expected);
    };
  }
  const EvaluationReport report = evaluate_language_run(request);
  // The figures first: a disk may have filled up meanwhile.
  if (options.json) {
    std::cout << to_json(report, options.by_position).dump(2) << '\n';
  } else if (options.by_position) {
    std::cout << losses_to_csv(report);
  } else {
    printer.print_rest(report);
  }
  if (report.signal != 0) {
    std::cerr << fmt::format(
        "stopped by a signal after {}; {}\n", format_counted(std::ssize(report.lengths), "row"),
        options.chart.empty() && options.output.empty() ? "the rest was not evaluated"
                                                        : "neither chart nor output is written");
    throw CLI::RuntimeError(kSignalExit + report.signal);
  }
  if (!options.chart.empty()) write_chart(options.chart, report, options.by_position);
  for (const EvaluatedLength& entry : report.lengths) {
    if (std::isfinite(entry.figures.loss)) continue;
    log::warn("in rows of {} the loss is no number: the model's scores leave the range of numbers",
              entry.length);
  }
  if (!options.output.empty()) {
    write_checksummed_json(InnerPath::named(options.output), to_json(report, /*by_position=*/true));
  }
}

}  // namespace

void add_evaluate_command(CLI::App& program) {
  auto options = std::make_shared<EvaluateOptions>();
  CLI::App* command = add_listed_command(
      program, "evaluate",
      "roformer evaluate runs/quickstart/rope --against runs/quickstart/learned\n"
      "RUN means its best checkpoint. ± is the standard error of the loss, by the rows of text.\n");
  command->add_option("run", options->model, "folder of a run or of a checkpoint")->required();
  command->add_option("--checkpoint", options->opening.checkpoint, "best, last or a step")
      ->capture_default_str();
  add_weights_option(*command, options->opening.weights);
  command->add_option("--data", options->data,
                      "another prepared set (same tokenizer), or GLUE folder");
  command->add_option("--against", options->against,
                      "another run on the same targets: the difference of the losses, paired; of "
                      "classifiers, matchers and probes: McNemar's test on the same examples");
  command->add_option("--length", options->lengths,
                      "tokens of a row, several with commas; default: as trained. Of a matcher: "
                      "of two texts, one number. Of a probe: characters of a question, default: "
                      "those of its validations");
  command
      ->add_option("--questions", options->questions,
                   "of a probe: at each length; default: as in its validations")
      ->check(CLI::Range(1, 100'000'000));
  command
      ->add_option("--tokens", options->tokens,
                   "tokens read at most; default: data.validation_tokens")
      ->check(positive());
  command->add_option("--shift", options->arrangement.shift, "the text begins at this position")
      ->check(not_negative());
  command->add_option("--drop-middle", options->arrangement.drop_middle,
                      "share of each row to take out; the rest keeps its positions");
  command->add_option("--shuffle-blocks", options->arrangement.shuffle_blocks,
                      "cut each row into N blocks and shuffle them");
  CLI::Option* pseudo =
      command->add_flag("--pseudo-perplexity", options->pseudo_perplexity,
                        "mask each token in turn (Salazar 2020); the first length");
  command->add_option("--sequences", options->sequences, "rows for the pseudo-perplexity")
      ->needs(pseudo)
      ->check(positive())
      ->capture_default_str();
  command->add_flag("--by-position", options->by_position, "the loss at each position, as CSV");
  command->add_option("--chart", options->chart,
                      "write a chart, FILE.svg or FILE.html: loss against length, or by position");
  command
      ->add_option("--errors", options->errors,
                   "of a classifier or matcher: show the N mistakes that it is surest of")
      ->check(not_negative());
  add_split_option(*command, options->split);
  command->add_option("--output", options->output,
                      "write the figures as JSON, with the loss at each position, into this file; "
                      "of a translator: its translations");
  command->add_flag("--json", options->json, "one JSON object");
  accept_settings(*command, options->opening.overrides, trained_model_flags());
  command->callback([options] { evaluate_command(*options); });
}

}  // namespace roformer
