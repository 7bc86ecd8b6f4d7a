#include "tasks/language/evaluate_language.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/origin.h"
#include "base/progress.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "report/html.h"
#include "tasks/stored_data.h"
#include "tasks/untrained.h"
#include "training/signals.h"

namespace roformer {
namespace {

// A model and the text that it reads.
struct Reader {
  TrainedModel model;
  Dataset dataset;

  bool causal() const { return task_facts(model.settings.task).causal; }
};

void check_pseudo_perplexity(const EvaluationRequest& request, bool causal) {
  if (request.masked_sequences == 0) return;
  if (request.by_position) {
    throw_usage("--pseudo-perplexity", "is of whole texts, and --by-position prints places of them",
                "one of the two");
  }
  if (causal) {
    throw_usage("--pseudo-perplexity", "is for masked models; a causal one has a perplexity");
  }
  if (request.arrangement != ArrangementSettings{.shift = request.arrangement.shift}) {
    throw_usage("--pseudo-perplexity", "is computed of unchanged text, shifted or not",
                "leave out --drop-middle and --shuffle-blocks");
  }
}

Reader open_first(TrainedModel model, EvaluationRequest& request) {
  if (request.lengths.empty()) request.lengths = {model.settings.data.length};
  if (request.tokens == 0) request.tokens = model.settings.data.validation_tokens;
  for (const std::int64_t length : request.lengths) {
    require_positions(model.settings, "--length", length, request.arrangement.shift);
  }
  warn_of_untrained_rows(model, std::ranges::max(request.lengths) + request.arrangement.shift);
  check_pseudo_perplexity(request, task_facts(model.settings.task).causal);
  Dataset dataset = open_stored_text(request.data, model);
  dataset.require(request.split);
  if (request.data.empty()) request.data = model.settings.data.directory.string();
  return {std::move(model), std::move(dataset)};
}

// The text comes from the data of the first model.
Reader open_other(const EvaluationRequest& request) {
  TrainedModel model(request.open_other());
  Dataset dataset = open_stored_text(request.data, model);
  for (const std::int64_t length : request.lengths) {
    require_positions(model.settings, "--length", length, request.arrangement.shift);
  }
  warn_of_untrained_rows(model, std::ranges::max(request.lengths) + request.arrangement.shift);
  return {std::move(model), std::move(dataset)};
}

EvaluatedLength evaluate_one(const Reader& reader, const EvaluationOptions& options) {
  EvaluatedLength result{.length = options.length,
                         .arrangement = options.arrangement,
                         .figures = evaluate_language_model(
                             *reader.model.model, reader.model.settings, reader.dataset, options)};
  if (reader.causal()) {
    result.bits_per_character = bits_of_character(result.figures, reader.dataset);
    result.bits_per_byte = bits_of_byte(result.figures, reader.dataset);
  }
  return result;
}

// Runs the passes over the text one after the other, with one progress bar for all.
class Passes {
 public:
  // `tokens`: the number of tokens in one pass.
  Passes(std::size_t passes, std::int64_t tokens)
      : tokens_(tokens), bar_("evaluating", passes * static_cast<std::uint64_t>(tokens), "tokens") {
    bar_.begin();
  }

  EvaluatedLength run(const Reader& reader, EvaluationOptions options) {
    options.progress = [this](std::int64_t done, std::int64_t of) {
      bar_.advance_to(static_cast<std::uint64_t>(passed_ + tokens_ * done / of));
    };
    EvaluatedLength result = evaluate_one(reader, options);
    passed_ += tokens_;
    bar_.clear();
    return result;
  }
  void finish() { bar_.finish(static_cast<std::uint64_t>(passed_)); }

 private:
  std::int64_t tokens_;
  std::int64_t passed_ = 0;
  ProgressBar bar_;
};

// The passes at each length: the unchanged text first, then the requested arrangement.
std::vector<EvaluationOptions> passes_of(const EvaluationRequest& request) {
  std::vector<EvaluationOptions> passes;
  for (const std::int64_t length : request.lengths) {
    EvaluationOptions pass{.length = length, .tokens = request.tokens, .split = request.split};
    passes.push_back(pass);
    if (request.arrangement == ArrangementSettings{}) continue;
    pass.arrangement = request.arrangement;
    passes.push_back(std::move(pass));
  }
  return passes;
}

// The report with all rows that it will have; missing rows look like the first.
EvaluationReport with_all_rows(const EvaluationReport& report,
                               const std::vector<EvaluationOptions>& passes) {
  EvaluationReport result = report;
  for (std::size_t i = report.lengths.size(); i < passes.size(); ++i) {
    EvaluatedLength& row = result.lengths.emplace_back(report.lengths.front());
    row.length = passes[i].length;
    row.arrangement = passes[i].arrangement;
    if (row.arrangement != ArrangementSettings{}) row.change = 0;
  }
  return result;
}

void add_rows(const EvaluationRequest& request, const OnRow& on_row, const Reader& reader,
              Passes& bar, EvaluationReport& report) {
  const std::vector<EvaluationOptions> passes = passes_of(request);
  for (const EvaluationOptions& pass : passes) {
    EvaluatedLength row = bar.run(reader, pass);
    if (pass.arrangement != ArrangementSettings{}) {
      row.change = loss_change(report.lengths.back().figures, row.figures);
    }
    report.lengths.push_back(std::move(row));
    if (on_row) on_row(report, with_all_rows(report, passes));
  }
}

// Runs the other model on the same rows, one pass for each pass of the report.
void add_other_model(const EvaluationRequest& request, const Reader& other, Passes& bar,
                     EvaluationReport& report) {
  prepare_threads(other.model.settings.threads);
  report.against = other.model.checkpoint.string();
  for (EvaluatedLength& entry : report.lengths) {
    const EvaluatedLength second = bar.run(other, {.length = entry.length,
                                                   .tokens = request.tokens,
                                                   .split = request.split,
                                                   .arrangement = entry.arrangement});
    entry.paired = compare_losses(entry.figures, second.figures);
  }
}

// The approximate number of tokens that a pass reads.
std::int64_t tokens_of_pass(const EvaluationRequest& request, const Dataset& dataset) {
  const std::uint64_t all = dataset.description()[request.split].counts.tokens;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(all), 1, request.tokens);
}

void print_head(const EvaluationReport& report, EvaluationText& text) {
  text.paragraph(fmt::format("{} on {} ({}), position {}, trained at length {}, evaluated in {}{}",
                             report.model, report.data, report.split, report.position,
                             report.training_length, report.precision, report.with));
  text.line("");
}

void print_rest(const EvaluationReport& report, EvaluationText& text) {
  if (std::ranges::any_of(report.lengths, [](const EvaluatedLength& entry) {
        return entry.figures.denominators.has_value();
      })) {
    text.line("");
    text.paragraph(
        "Small denominators of linear attention are below a hundredth of the largest value that "
        "their features allow; the least denominator is given as a share of that value.");
  }
  for (const EvaluatedLength& entry : report.lengths) {
    const auto& paired = entry.paired;
    if (!paired) continue;
    text.line("");
    text.paragraph(fmt::format(
        "{} minus this, {} tokens, {}: {:+.4f} ± {:.4f} nats (95 %: {:+.4f} to {:+.4f}, p {:.2g}), "
        "on the same {} targets of {} rows",
        report.against, format_count(entry.length), describe(entry.arrangement), paired->difference,
        paired->standard_error, paired->interval.low, paired->interval.high, paired->p_value,
        format_count(paired->targets), format_count(paired->rows)));
  }
  if (const auto& pseudo = report.pseudo_perplexity) {
    text.line("");
    text.line(fmt::format(
        "pseudo-perplexity {:.3f} (loss {:.4f} nats) over {} tokens of {} sequences", pseudo->value,
        pseudo->loss, format_count(pseudo->tokens), format_count(pseudo->sequences)));
  }
}

std::string chart_file(const std::string& file, const EvaluationReport& report, bool by_position) {
  if (is_picture(file)) {
    return picture_file(draw(by_position ? loss_by_position(report) : loss_by_length(report)),
                        file);
  }
  HtmlReport page({.title = "Evaluation of " + report.model,
                   .subtitle = fmt::format("{} on {} ({}){}", report.position, report.data,
                                           report.split, report.with),
                   .footer = this_program().footer()});
  page.table(to_table(report));
  if (report.lengths.size() > 1) page.chart(loss_by_length(report));
  if (by_position) page.chart(loss_by_position(report));
  return page.html();
}

void write_evaluation(const EvaluationReport& report, const EvaluationRequest& request) {
  if (!request.chart.empty()) {
    write_file_atomically(InnerPath::named(request.chart),
                          chart_file(request.chart, report, request.by_position));
    log::info("chart: {}", request.chart);
  }
  if (!request.output.empty()) {
    write_checksummed_json(InnerPath::named(request.output), to_json(report, /*by_position=*/true));
  }
}

}  // namespace

EvaluationReport evaluate_language_run(TrainedModel model, const EvaluationRequest& asked,
                                       const OnRow& on_row) {
  EvaluationRequest request = asked;
  const Reader reader = open_first(std::move(model), request);
  std::optional<Reader> other;
  if (!request.against.empty()) other.emplace(open_other(request));
  const Settings& settings = reader.model.settings;
  prepare_threads(settings.threads);  // the other run sets the plan to its own
  if (!reader.model.overrides.empty()) {
    for (const std::string& remark : position_remarks(settings)) log::warn("{}", remark);
  }
  if (reader.causal()) warn_of_line_ends(reader.dataset);
  EvaluationReport report{.model = reader.model.checkpoint.string(),
                          .data = reader.dataset.folder().string(),
                          .split = std::string(to_string(request.split)),
                          .position = settings.position.scheme,
                          .precision = to_word(reader.model.model->plan().precision),
                          .training_length = settings.data.length,
                          .causal = reader.causal(),
                          .with = with_overrides(reader.model),
                          .overrides = overrides_json(reader.model)};
  const StopSignals signals("stopping; what was evaluated is shown");
  try {
    Passes bar(passes_of(request).size() * (other ? 2 : 1),
               tokens_of_pass(request, reader.dataset));
    add_rows(request, on_row, reader, bar, report);
    if (request.masked_sequences > 0) {
      report.pseudo_perplexity =
          pseudo_perplexity(*reader.model.model, reader.dataset,
                            {.split = request.split,
                             .sequences = request.masked_sequences,
                             .length = request.lengths.front(),
                             .cross_documents = settings.data.cross_documents,
                             .shift = request.arrangement.shift});
    }
    if (other) add_other_model(request, *other, bar, report);
    bar.finish();
  } catch (const ValidationStopped&) {
    report.signal = StopSignals::received();
  }
  return report;
}

EvaluationResult evaluate_language(OpenedRun run, const EvaluationRequest& request) {
  const auto print_row = [&](const EvaluationReport& so_far, const EvaluationReport& expected) {
    if (so_far.lengths.size() == 1) print_head(so_far, *request.text);
    request.text->row(to_table(expected), so_far.lengths.size() - 1);
  };
  const EvaluationReport report = evaluate_language_run(
      TrainedModel(std::move(run)), request, request.text != nullptr ? OnRow(print_row) : OnRow());
  if (request.text != nullptr) print_rest(report, *request.text);
  EvaluationResult result{.json = to_json(report, request.by_position),
                          .write_files = [report, request] { write_evaluation(report, request); },
                          .signal = report.signal};
  if (request.by_position) result.csv = losses_to_csv(report);
  for (const EvaluatedLength& entry : report.lengths) {
    if (std::isfinite(entry.figures.loss)) continue;
    result.warnings.push_back(fmt::format(
        "in rows of {} the loss is not finite: the model's scores overflow", entry.length));
  }
  if (report.signal != 0) {
    result.stopped = fmt::format(
        "stopped by a signal after {}; {}", format_counted(std::ssize(report.lengths), "row"),
        request.chart.empty() && request.output.empty() ? "the rest was not evaluated"
                                                        : "neither chart nor output is written");
  }
  return result;
}

}  // namespace roformer
