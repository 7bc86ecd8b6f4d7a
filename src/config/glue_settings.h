// Section `glue` of the configuration.
#pragma once

#include <string>

namespace roformer {

enum class GlueTask { cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli };
enum class ClassifierHead { bert, roformer, linear, modernbert };
enum class TextPooling { first, mean };

struct GlueSettings {
  GlueTask task = GlueTask::mrpc;
  ClassifierHead head = ClassifierHead::bert;
  double head_dropout = 0.1;
  TextPooling pooling = TextPooling::first;
  std::string class_names;  // "NEGATIVE|POSITIVE", in the task's order; empty: the task's labels
};

}  // namespace roformer
