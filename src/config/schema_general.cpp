// Keys at the top of a file: what is run, where and on what.
#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

Choice task_choice() {
  std::vector<std::string> names;
  for (const TaskFacts& facts : all_task_facts()) names.emplace_back(facts.name);
  return {.words = std::move(names),
          .set = [](Settings& settings,
                    std::size_t index) { settings.task = static_cast<TaskKind>(index); },
          .get = [](const Settings& settings) { return static_cast<std::size_t>(settings.task); }};
}

}  // namespace

std::vector<Key> general_keys() {
  return {
      make_key("task", task_choice(),
               {.help = "what is trained: mlm predicts masked tokens (BERT), causal_lm "
                        "the next token, glue classifies sentences, translation is an "
                        "encoder-decoder, matching finds the closer of two texts, probe and "
                        "masked_probe answer questions that are made on the fly"}),
      ROFORMER_KEY(run, {.help = "name of the run, a folder under `runs`; default: the name of "
                                 "the configuration file"}),
      ROFORMER_KEY(runs, {.help = "folder that holds the runs", .decides = Decides::nothing}),
      ROFORMER_KEY(seed, {.help = "decides initial weights, order of the data, masks and dropout"}),
      ROFORMER_KEY(device,
                   {.help = "auto takes a GPU where there is one", .decides = Decides::nothing}),
      ROFORMER_KEY(threads, {.unit = "threads",
                             .range = between(0, 4096),
                             .help = "threads for the computation; 0: all cores, or as many as the "
                                     "container's quota gives. Other numbers of threads round "
                                     "sums differently",
                             .decides = Decides::nothing}),
  };
}

}  // namespace roformer
