// Translation with an encoder-decoder: pairs of a prepared parallel corpus, the label-smoothed
// loss, validation by negative log likelihood and by BLEU and chrF of real decoding.
#pragma once

#include "tasks/opened_task.h"

namespace roformer {

OpenedTask open_translation_task(const TaskSources& sources);

}  // namespace roformer
