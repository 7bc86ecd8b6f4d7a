// The facts and keys of the length probes, causal and for encoders.
#include <cstdint>

#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> probe_keys() {
  const std::vector<TaskKind> probes{TaskKind::probe, TaskKind::masked_probe};
  return {
      ROFORMER_KEY(
          probe.kind,
          {.help = "copy or reverse letters; passkey: four digits out of much text; addition, the "
                   "lowest digits first; dyck: are the brackets balanced; recall: the values that "
                   "followed keys",
           .tasks = probes}),
      ROFORMER_KEY(probe.longest,
                   {.unit = "times data.length",
                    .range = between(1, 64),
                    .help = "tested at 1, 2, 4 ... times the training length, up to this factor",
                    .tasks = probes}),
      ROFORMER_KEY(probe.examples, {.unit = "examples",
                                    .range = between(1, 1 << 20),
                                    .help = "examples per length in a validation",
                                    .tasks = probes,
                                    .decides = Decides::figures}),
  };
}

// Figures at the trained length and at 2, 4, ... times that length.
std::vector<TaskFigure> probe_figures(const Settings& settings) {
  std::vector<TaskFigure> figures{{"loss", "validation_loss"}};
  for (std::int64_t times = 1; times <= settings.probe.longest; times *= 2) {
    for (const char* name : {"accuracy", "symbol_accuracy"}) {
      const std::string figure =
          std::string(name) + (times == 1 ? "" : "_at_x" + std::to_string(times));
      figures.push_back({figure, figure});
    }
  }
  return figures;
}

}  // namespace

TaskFacts probe_facts() {
  return {.task = TaskKind::probe,
          .name = "probe",
          .title = "probe of length",
          .causal = true,
          .exported = ExportForm::language_model,
          .keys = probe_keys,
          .figures = probe_figures,
          .ranked_by = by_accuracy,
          .metrics = {{.name = "symbol_accuracy",
                       .title = "symbols right",
                       .unit = "%",
                       .digits = 1,
                       .higher_is_better = true}},
          .columns = {"symbol_accuracy", "minutes"}};
}

TaskFacts masked_probe_facts() {
  return {.task = TaskKind::masked_probe,
          .name = "masked_probe",
          .title = "probe of length for encoders",
          .exported = ExportForm::language_model,
          .figures = probe_figures,
          .ranked_by = by_accuracy,
          .columns = {"symbol_accuracy", "minutes"}};
}

}  // namespace roformer
