// Keys of the probes of length.
#include "config/schema_row.h"
#include "config/words.h"

namespace roformer {

std::vector<Key> probe_keys() {
  const std::vector<TaskKind> probes{TaskKind::probe, TaskKind::masked_probe};
  return {
      ROFORMER_KEY(
          probe.kind,
          {.help = "copy or reverse letters; passkey: four digits out of much text; addition, the "
                   "lowest digits first; dyck: are the brackets balanced; recall: the values that "
                   "stood behind keys",
           .tasks = probes}),
      ROFORMER_KEY(probe.longest,
                   {.unit = "times data.length",
                    .range = between(1, 64),
                    .help = "tested at 1, 2, 4 ... times the length trained on, up to so many",
                    .tasks = probes}),
      ROFORMER_KEY(probe.examples, {.unit = "examples",
                                    .range = between(1, 1 << 20),
                                    .help = "of each length, in a validation",
                                    .tasks = probes,
                                    .decides = Decides::figures}),
  };
}

}  // namespace roformer
