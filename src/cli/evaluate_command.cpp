// `roformer evaluate`: the loss of a trained language model on prepared text, at any length, with
// options that leave its weights as they are, and in other arrangements of the text; the metrics of
// a classifier.
#include <fmt/format.h>

#include <charconv>
#include <iostream>
#include <memory>

#include "base/command_line.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sealed_json.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/command_list.h"
#include "cli/commands.h"
#include "cli/evaluate_classifier.h"
#include "cli/evaluate_translator.h"
#include "cli/matching_commands.h"
#include "cli/stored_data.h"
#include "cli/trained_model_flags.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "report/html.h"
#include "runs/evaluation_report.h"

namespace roformer {
namespace {

struct EvaluateOptions {
  std::string model;
  std::string checkpoint = "best";
  std::optional<WeightsKind> weights;
  std::string data;
  std::string against;  // another run
  std::string lengths;
  std::int64_t tokens = 0;
  ArrangementSettings arrangement;
  bool pseudo_perplexity = false;
  std::int64_t sequences = 16;
  bool by_position = false;
  std::int64_t errors = 0;
  std::string split = "validation";
  std::string chart;
  std::string output;
  bool json = false;
  std::vector<Override> overrides;
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

std::vector<std::int64_t> lengths_of(const EvaluateOptions& options, const TrainedModel& trained) {
  std::vector<std::int64_t> lengths = parse_lengths(options.lengths);
  if (lengths.empty()) lengths = {trained.settings.data.length};
  return lengths;
}

void check_chart(const std::string& file) {
  if (file.empty() || file.ends_with(".svg") || file.ends_with(".html")) return;
  throw_usage("--chart", "\"" + file + "\" is neither .svg nor .html");
}

std::int64_t token_limit(const EvaluateOptions& options, const TrainedModel& trained) {
  return options.tokens > 0 ? options.tokens : trained.settings.data.validation_tokens;
}

// What the second model takes of the flags: how it computes, and not what it is.
std::vector<Override> runtime(const std::vector<Override>& overrides) {
  std::vector<Override> result;
  for (const Override& override : overrides) {
    if (!override.key.starts_with("position") && !override.key.starts_with("attention")) {
      result.push_back(override);
    }
  }
  return result;
}

// Of a language model's data.
Split split_of(const EvaluateOptions& options) {
  return options.split == to_string(Split::test) ? Split::test : Split::validation;
}

EvaluatedLength evaluate_one(const TrainedModel& trained, const Dataset& dataset,
                             const EvaluationOptions& options) {
  EvaluatedLength result{
      .length = options.length,
      .arrangement = options.arrangement,
      .figures = evaluate_language_model(*trained.model, trained.settings, dataset, options)};
  if (task_facts(trained.settings.task).causal) {
    result.bits_per_character = bits_of_character(result.figures, dataset);
  }
  return result;
}

void check_pseudo_perplexity(const EvaluateOptions& options, const Settings& settings) {
  if (!options.pseudo_perplexity) return;
  if (options.by_position) {
    throw_usage("--pseudo-perplexity", "is of whole texts, and --by-position prints places of them",
                "one of the two");
  }
  if (task_facts(settings.task).causal) {
    throw_usage("--pseudo-perplexity", "is for masked models; a causal one has a perplexity");
  }
  if (options.arrangement != ArrangementSettings{.shift = options.arrangement.shift}) {
    throw_usage("--pseudo-perplexity", "is of the text as it stands, shifted or not",
                "leave out --drop-middle and --shuffle-blocks");
  }
}

EvaluationReport evaluate_model(const EvaluateOptions& options, const TrainedModel& trained) {
  const Settings& settings = trained.settings;
  const std::vector<std::int64_t> lengths = lengths_of(options, trained);
  for (const std::int64_t length : lengths) {
    require_positions(settings, "--length", length, options.arrangement.shift);
  }
  check_pseudo_perplexity(options, settings);
  const Dataset dataset = open_stored_text(options.data, trained);
  dataset.require(split_of(options));
  if (task_facts(settings.task).causal) warn_of_line_ends(dataset);
  EvaluationReport report{.model = trained.checkpoint.string(),
                          .data = dataset.folder().string(),
                          .split = options.split,
                          .position = settings.position.scheme,
                          .precision = to_word(trained.model->plan().precision),
                          .training_length = settings.data.length,
                          .causal = task_facts(settings.task).causal};
  const bool rearranged = options.arrangement != ArrangementSettings{};
  const auto steps = static_cast<std::uint64_t>(lengths.size() * (rearranged ? 2 : 1));
  ProgressBar bar("evaluating", steps, "passes");
  for (const std::int64_t length : lengths) {
    EvaluationOptions pass{
        .length = length, .tokens = token_limit(options, trained), .split = split_of(options)};
    report.lengths.push_back(evaluate_one(trained, dataset, pass));
    bar.advance_to(report.lengths.size());
    if (!rearranged) continue;
    pass.arrangement = options.arrangement;
    EvaluatedLength other = evaluate_one(trained, dataset, pass);
    other.change = loss_change(report.lengths.back().figures, other.figures);
    report.lengths.push_back(std::move(other));
    bar.advance_to(report.lengths.size());
  }
  bar.finish(steps);
  if (options.pseudo_perplexity) {
    report.pseudo_perplexity = pseudo_perplexity(*trained.model, dataset,
                                                 {.split = split_of(options),
                                                  .sequences = options.sequences,
                                                  .length = lengths.front(),
                                                  .cross_documents = settings.data.cross_documents,
                                                  .shift = options.arrangement.shift});
  }
  return report;
}

// The model that it is compared with, and the same data. Opened before anything is computed.
struct OtherModel {
  TrainedModel model;
  Dataset dataset;
};

OtherModel open_other(const EvaluateOptions& options, const TrainedModel& trained) {
  TrainedModel other =
      open_trained_model(options.against, {.checkpoint = options.checkpoint,
                                           .weights = options.weights,
                                           .overrides = runtime(options.overrides)});
  Dataset dataset = open_stored_text(
      options.data.empty() ? trained.settings.data.directory.string() : options.data, other);
  for (const std::int64_t length : lengths_of(options, trained)) {
    require_positions(other.settings, "--length", length, options.arrangement.shift);
  }
  return {std::move(other), std::move(dataset)};
}

// The other model on the same rows, one pass for each of the report's.
void add_other_model(const EvaluateOptions& options, const TrainedModel& trained,
                     const OtherModel& opened, EvaluationReport& report) {
  const auto& [other, dataset] = opened;
  prepare_threads(other.settings.threads);
  report.against = other.checkpoint.string();
  for (EvaluatedLength& entry : report.lengths) {
    const EvaluatedLength second = evaluate_one(other, dataset,
                                                {.length = entry.length,
                                                 .tokens = token_limit(options, trained),
                                                 .split = split_of(options),
                                                 .arrangement = entry.arrangement});
    entry.paired = compare_losses(entry.figures, second.figures);
  }
}

void write_chart(const std::string& file, const EvaluationReport& report, bool by_position) {
  if (file.ends_with(".svg")) {
    write_file_atomically(file,
                          to_svg(by_position ? loss_by_position(report) : loss_by_length(report)));
  } else {
    HtmlReport page(
        {.title = "Evaluation of " + report.model,
         .subtitle = fmt::format("{} on {} ({})", report.position, report.data, report.split),
         .footer = fmt::format("{} · roformer {} ({})", command_line(), kVersion, kCommit)});
    page.table(to_table(report));
    if (report.lengths.size() > 1) page.chart(loss_by_length(report));
    if (by_position) page.chart(loss_by_position(report));
    write_file_atomically(file, page.html());
  }
  log::info("chart: {}", file);
}

void print_text(const EvaluationReport& report) {
  fmt::print("{} on {} ({}), position {}, trained at length {}, evaluated in {}\n\n{}",
             report.model, report.data, report.split, report.position, report.training_length,
             report.precision, to_text(to_table(report), {.width = terminal_width()}));
  for (const EvaluatedLength& entry : report.lengths) {
    const auto& found = entry.figures.denominators;
    if (!found) continue;
    fmt::print(
        "\ndenominators of linear attention at {} tokens: {:.3g} % of {} are below a hundredth of "
        "what their features could add up to, the least is {:.2g} of it\n",
        entry.length, 100 * found->small_share(), format_count(found->count), found->least);
  }
  for (const EvaluatedLength& entry : report.lengths) {
    const auto& paired = entry.paired;
    if (!paired) continue;
    fmt::print(
        "\n{} minus this, {} tokens, {}: {:+.4f} ± {:.4f} nats (95 %: {:+.4f} to {:+.4f}, "
        "p {:.2g}), on the same {} targets of {} rows\n",
        report.against, entry.length, describe(entry.arrangement), paired->difference,
        paired->standard_error, paired->interval.low, paired->interval.high, paired->p_value,
        format_count(paired->targets), format_count(paired->rows));
  }
  if (const auto& pseudo = report.pseudo_perplexity) {
    fmt::print("\npseudo-perplexity {:.3f} (loss {:.4f} nats) over {} tokens of {} sequences\n",
               pseudo->value, pseudo->loss, format_count(pseudo->tokens),
               format_count(pseudo->sequences));
  }
}

// What is measured of a language model has no meaning for a classifier, and the reverse.
void refuse_foreign_flags(const EvaluateOptions& options, const TaskFacts& facts) {
  const bool language = !options.lengths.empty() || options.tokens > 0 ||
                        options.arrangement != ArrangementSettings{} || options.pseudo_perplexity ||
                        options.by_position || !options.chart.empty();
  const bool against = !options.against.empty();
  if (facts.predicts_labels && (language || against || !options.output.empty())) {
    throw_usage(options.model, "is a classifier's run",
                "it takes --data, --errors, --json and --checkpoint");
  }
  if (facts.translates && (language || against)) {
    throw_usage(options.model, "is a translator's run",
                "it takes --data, --split, --output, --json and --checkpoint");
  }
  if (facts.matches && (language || !options.output.empty())) {
    throw_usage(options.model, "is a matcher's run",
                "it takes --data, --split, --errors, --against, --json and --checkpoint");
  }
  if (facts.predicts_labels && options.split != "validation") {
    throw_usage("--split",
                "is not for a classifier's run: the labels of GLUE's test sets are secret");
  }
  if (!facts.predicts_labels && !facts.matches && options.errors > 0) {
    throw_usage("--errors", "is for the run of a classifier; " + options.model + " is none");
  }
}

void evaluate_command(const EvaluateOptions& options) {
  check_chart(options.chart);
  for (const std::string& file : {options.chart, options.output}) {
    if (!file.empty()) require_output(file);
  }
  const TaskFacts& facts = task_of_run(options.model, options.checkpoint);
  refuse_foreign_flags(options, facts);
  if (facts.translates) {
    // A training may decode a part of its validation set; what is said of a set is of all of it.
    std::vector<Override> overrides{{.key = "decoding.sentences", .text = "0"}};
    overrides.insert(overrides.end(), options.overrides.begin(), options.overrides.end());
    const TrainedTranslator trained = open_trained_translator(
        options.model,
        {.checkpoint = options.checkpoint, .weights = options.weights, .overrides = overrides});
    evaluate_translator(trained, {.data = options.data,
                                  .split = options.split,
                                  .output = options.output,
                                  .json = options.json});
    return;
  }
  if (facts.predicts_labels) {
    const TrainedClassifier trained =
        open_trained_classifier(options.model, {.checkpoint = options.checkpoint,
                                                .weights = options.weights,
                                                .overrides = options.overrides});
    evaluate_classifier(trained,
                        {.data = options.data, .errors = options.errors, .json = options.json});
    return;
  }
  if (facts.matches) {
    evaluate_matcher(open_trained_matcher(options.model, {.checkpoint = options.checkpoint,
                                                          .weights = options.weights,
                                                          .overrides = options.overrides}),
                     {.data = options.data,
                      .split = options.split,
                      .against = options.against,
                      .checkpoint = options.checkpoint,
                      .weights = options.weights,
                      .errors = options.errors,
                      .json = options.json});
    return;
  }
  if (!facts.evaluates_text) {
    throw_usage(options.model, fmt::format("is the run of a {}", facts.title),
                "its figures at every length are in metrics.jsonl and in a study's table");
  }
  const TrainedModel trained = open_trained_model(options.model, {.checkpoint = options.checkpoint,
                                                                  .weights = options.weights,
                                                                  .overrides = options.overrides});
  std::optional<OtherModel> other;
  if (!options.against.empty()) other.emplace(open_other(options, trained));
  prepare_threads(trained.settings.threads);  // which the other has set to its own
  EvaluationReport report = evaluate_model(options, trained);
  if (other) add_other_model(options, trained, *other, report);
  // The figures first: a disk may have filled up meanwhile.
  if (options.json) {
    std::cout << to_json(report, options.by_position).dump(2) << '\n';
  } else if (options.by_position) {
    std::cout << losses_to_csv(report);
  } else {
    print_text(report);
  }
  if (!options.chart.empty()) write_chart(options.chart, report, options.by_position);
  if (!options.output.empty()) {
    write_sealed_json(options.output, to_json(report, /*by_position=*/true));
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
  command->add_option("--checkpoint", options->checkpoint, "best, last or a step")
      ->capture_default_str();
  add_weights_option(*command, options->weights);
  command->add_option("--data", options->data,
                      "another prepared set (same tokenizer), or GLUE folder");
  command->add_option("--against", options->against,
                      "another run on the same targets: the difference of the losses, paired; of "
                      "matchers: McNemar's test on the same examples");
  command->add_option("--length", options->lengths,
                      "tokens of a row, several with commas; default: as trained");
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
  command->add_option("--split", options->split, "of the data: validation or test")
      ->check(CLI::IsMember({"validation", "test"}))
      ->capture_default_str();
  command->add_option("--output", options->output,
                      "write the figures as JSON, with the loss at each position, into this file; "
                      "of a translator: its translations");
  command->add_flag("--json", options->json, "one JSON object");
  accept_settings(*command, options->overrides, trained_model_flags());
  command->callback([options] { evaluate_command(*options); });
}

}  // namespace roformer
