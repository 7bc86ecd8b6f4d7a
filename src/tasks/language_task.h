// Pretraining of language models: masked (BERT's, 15 % of the tokens are targets) and causal (all
// are). Data, model, loss and metrics for the trainer.
#pragma once

#include "tasks/opened_task.h"

namespace roformer {

// Of a prepared data set, which brings its tokenizer.
OpenedTask open_language_task(const TaskSources& sources);

}  // namespace roformer
