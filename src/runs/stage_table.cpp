#include "runs/stage_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace roformer {

Table stage_table(const Settings& settings, const TrainingSummary& summary) {
  const NumberFormat count{NumberFormat::Style::count, 0}, loss{NumberFormat::Style::fixed, 3},
      share{NumberFormat::Style::percent, 1};
  const std::string longest = fmt::format(" at {}", settings.data.length);
  Table table({{.title = "stage", .format = count},
               {.title = "length", .format = count},
               {.title = "rows of a step", .format = count},
               {.title = "steps", .format = count},
               {.title = "loss", .format = loss},
               {.title = "accuracy", .unit = "%", .format = share},
               {.title = "loss" + longest, .format = loss},
               {.title = "accuracy" + longest, .unit = "%", .format = share}});
  std::int64_t end = 0;
  for (std::size_t i = 0; i < settings.stages.size(); ++i) {
    const StageSettings& stage = settings.stages[i];
    end += stage.steps;
    const auto found = std::ranges::find(summary.validations, end, &ValidationRecord::step);
    if (found == summary.validations.end()) continue;
    const auto& figures = found->figures;
    const std::int64_t length = stage.length.value_or(settings.data.length);
    const std::string at =
        length == settings.data.length ? "" : fmt::format("_at_length_{}", length);
    table.add_row({static_cast<std::int64_t>(i + 1), length,
                   stage.batch.value_or(settings.training.batch) *
                       stage.accumulation.value_or(settings.training.accumulation),
                   stage.steps, figures.at("loss" + at), figures.at("accuracy" + at),
                   figures.at("loss"), figures.at("accuracy")});
  }
  return table;
}

}  // namespace roformer
