// Section `glue` of the configuration.
#pragma once

#include <string>

#include "config/classification_settings.h"

namespace roformer {

enum class GlueTask { cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli };

struct GlueSettings : ClassifierSettings {
  GlueTask task = GlueTask::mrpc;
  std::string class_names;  // "NEGATIVE|POSITIVE", in the task's order; empty: the task's labels
};

}  // namespace roformer
