// The facts of the masked and the causal language models.
#include <cstdint>
#include <set>

#include "config/attention_settings.h"
#include "config/task_facts.h"

namespace roformer {
namespace {

constexpr const char* kPreparedText =
    "make a data set with `roformer data prepare`, then --data.directory FOLDER";

// Adds the figures at the lengths of the stages and the figures of linear attention's denominators
// (DenominatorCheck, attention/linear_attention.h).
std::vector<TaskFigure> language_figures(std::vector<TaskFigure> figures,
                                         const Settings& settings) {
  std::set<std::int64_t> lengths;
  for (const StageSettings& stage : settings.stages) {
    lengths.insert(stage.length.value_or(settings.data.length));
  }
  lengths.erase(settings.data.length);
  for (const std::int64_t length : lengths) {
    for (const char* name : {"loss_at_length_", "accuracy_at_length_"}) {
      figures.push_back({name + std::to_string(length), name + std::to_string(length)});
    }
  }
  if (!uses_linear_attention(settings.attention)) return figures;
  for (const char* name : {"small_denominators", "least_denominator"}) {
    figures.push_back({name, name});
  }
  return figures;
}

std::vector<TaskFigure> mlm_figures(const Settings& settings) {
  return language_figures({{"loss", "validation_loss"},
                           {"loss_standard_error", "validation_loss_standard_error"},
                           {"accuracy", "masked_accuracy"},
                           {"perplexity", "perplexity"}},
                          settings);
}

std::vector<TaskFigure> causal_figures(const Settings& settings) {
  return language_figures({{"loss", "validation_loss"},
                           {"loss_standard_error", "validation_loss_standard_error"},
                           {"accuracy", "accuracy"},
                           {"perplexity", "perplexity"},
                           {"bits_per_character", "bits_per_character"},
                           {"bits_per_byte", "bits_per_byte"}},
                          settings);
}

}  // namespace

TaskFacts mlm_facts() {
  return {
      .task = TaskKind::mlm,
      .name = "mlm",
      .title = "masked language model",
      .data = TaskData::prepared_text,
      .data_hint = kPreparedText,
      .exported = ExportForm::language_model,
      .figures = mlm_figures,
      .ranked_by = by_loss,
      .metrics =
          {{.name = "validation_loss_standard_error", .title = "its standard error", .digits = 4},
           {.name = "masked_accuracy",
            .title = "masked accuracy",
            .unit = "%",
            .digits = 1,
            .higher_is_better = true},
           {.name = "small_denominators", .title = "small denominators", .unit = "%", .digits = 3},
           {.name = "least_denominator",
            .title = "least denominator",
            .digits = 5,
            .higher_is_better = true}},
      .columns = {"masked_accuracy", "loss_at_25", "loss_at_50", "loss_at_75",
                  "tokens_per_second"}};
}

TaskFacts causal_lm_facts() {
  return {.task = TaskKind::causal_lm,
          .name = "causal_lm",
          .title = "causal language model",
          .causal = true,
          .data = TaskData::prepared_text,
          .data_hint = kPreparedText,
          .exported = ExportForm::language_model,
          .figures = causal_figures,
          .ranked_by = by_loss,
          .metrics = {{.name = "bits_per_character", .title = "bits per character"},
                      {.name = "bits_per_byte", .title = "bits per byte"}},
          .columns = {"perplexity", "bits_per_character", "loss_at_25", "loss_at_50", "loss_at_75",
                      "tokens_per_second"}};
}

}  // namespace roformer
