// The tasks in the order in which they are listed everywhere. A new task needs one line here
// besides its own files: config/tasks/ (`NAME_facts`: keys, figures, and the facts for checks) and
// tasks/ (`define_NAME`: everything that needs tensors). Shared keys name their tasks in
// schema_*.cpp.
#pragma once

#define ROFORMER_EACH_TASK(DO) \
  DO(mlm)                      \
  DO(causal_lm)                \
  DO(glue)                     \
  DO(classification)           \
  DO(tagging)                  \
  DO(embedding)                \
  DO(translation)              \
  DO(matching)                 \
  DO(probe)                    \
  DO(masked_probe)
