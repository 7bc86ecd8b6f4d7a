// The tasks, in the order in which they are listed everywhere. The one line that a new task needs
// beside its own files: from it follow config/tasks/ (`NAME_facts`: keys, figures, what a
// configuration must know) and tasks/ (`define_NAME`: everything that needs tensors).
#pragma once

#define ROFORMER_EACH_TASK(DO) \
  DO(mlm)                      \
  DO(causal_lm)                \
  DO(glue)                     \
  DO(translation)              \
  DO(matching)                 \
  DO(probe)                    \
  DO(masked_probe)
