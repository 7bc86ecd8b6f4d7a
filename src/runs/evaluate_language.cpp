#include "runs/evaluate_language.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/position_remarks.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "runs/stored_data.h"
#include "runs/untrained.h"

namespace roformer {
namespace {

// A model and the text that it reads.
struct Reader {
  TrainedModel model;
  Dataset dataset;

  bool causal() const { return task_facts(model.settings.task).causal; }
};

void check_pseudo_perplexity(const LanguageEvaluationRequest& request, bool causal) {
  if (request.masked_sequences == 0) return;
  if (causal) {
    throw_usage("--pseudo-perplexity", "is for masked models; a causal one has a perplexity");
  }
  if (request.arrangement != ArrangementSettings{.shift = request.arrangement.shift}) {
    throw_usage("--pseudo-perplexity", "is of the text as it stands, shifted or not",
                "leave out --drop-middle and --shuffle-blocks");
  }
}

Reader open_first(LanguageEvaluationRequest& request) {
  TrainedModel model = open_trained_model(request.model, request.opening);
  if (request.lengths.empty()) request.lengths = {model.settings.data.length};
  if (request.tokens == 0) request.tokens = model.settings.data.validation_tokens;
  for (const std::int64_t length : request.lengths) {
    require_positions(model.settings, "--length", length, request.arrangement.shift);
  }
  warn_of_untrained_rows(model, std::ranges::max(request.lengths) + request.arrangement.shift);
  check_pseudo_perplexity(request, task_facts(model.settings.task).causal);
  Dataset dataset = open_stored_text(request.data, model);
  dataset.require(request.split);
  if (request.data.empty()) request.data = model.settings.data.directory;
  return {std::move(model), std::move(dataset)};
}

// On the data of the first, with what the flags say of how a model computes.
Reader open_other(const LanguageEvaluationRequest& request) {
  TrainedModelOptions opening = request.opening;
  opening.overrides = computing_overrides(opening.overrides);
  TrainedModel model = open_trained_model(request.against, opening);
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

// Each length as the text stands and, where one is asked for, in the other arrangement.
std::vector<EvaluatedLength> evaluate_lengths(const LanguageEvaluationRequest& request,
                                              const Reader& reader) {
  const bool rearranged = request.arrangement != ArrangementSettings{};
  const auto steps = static_cast<std::uint64_t>(request.lengths.size() * (rearranged ? 2 : 1));
  ProgressBar bar("evaluating", steps, "passes");
  std::vector<EvaluatedLength> results;
  for (const std::int64_t length : request.lengths) {
    EvaluationOptions pass{.length = length, .tokens = request.tokens, .split = request.split};
    results.push_back(evaluate_one(reader, pass));
    bar.advance_to(results.size());
    if (!rearranged) continue;
    pass.arrangement = request.arrangement;
    EvaluatedLength other = evaluate_one(reader, pass);
    other.change = loss_change(results.back().figures, other.figures);
    results.push_back(std::move(other));
    bar.advance_to(results.size());
  }
  bar.finish(steps);
  return results;
}

// The other model on the same rows, one pass for each of the report's.
void add_other_model(const LanguageEvaluationRequest& request, const Reader& other,
                     EvaluationReport& report) {
  prepare_threads(other.model.settings.threads);
  report.against = other.model.checkpoint.string();
  for (EvaluatedLength& entry : report.lengths) {
    const EvaluatedLength second = evaluate_one(other, {.length = entry.length,
                                                        .tokens = request.tokens,
                                                        .split = request.split,
                                                        .arrangement = entry.arrangement});
    entry.paired = compare_losses(entry.figures, second.figures);
  }
}

}  // namespace

EvaluationReport evaluate_language_run(const LanguageEvaluationRequest& asked) {
  LanguageEvaluationRequest request = asked;
  const Reader reader = open_first(request);
  std::optional<Reader> other;
  if (!request.against.empty()) other.emplace(open_other(request));
  const Settings& settings = reader.model.settings;
  prepare_threads(settings.threads);  // which the other has set to its own
  if (!request.opening.overrides.empty()) {
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
                          .overrides = overrides_json(reader.model),
                          .lengths = evaluate_lengths(request, reader)};
  if (request.masked_sequences > 0) {
    report.pseudo_perplexity = pseudo_perplexity(*reader.model.model, reader.dataset,
                                                 {.split = request.split,
                                                  .sequences = request.masked_sequences,
                                                  .length = request.lengths.front(),
                                                  .cross_documents = settings.data.cross_documents,
                                                  .shift = request.arrangement.shift});
  }
  if (other) add_other_model(request, *other, report);
  return report;
}

}  // namespace roformer
