// The meaning of a classifier's outputs: its classes in their order, or a score. One value
// describes both tasks, classification and glue. This program uses the order of the task's labels;
// a Hugging Face folder may use any order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "data/glue.h"
#include "tasks/text_model.h"

namespace roformer {

struct Targets {
  TargetKind kind = TargetKind::single;
  std::vector<std::string> classes;       // as the data name them; empty: regression
  std::vector<std::string> names;         // as predictions and exports name them
  std::vector<std::string_view> figures;  // the metrics of a labelled set, beside the loss
  std::string title;                      // "MRPC", "reviews.csv": for messages

  bool is_regression() const { return kind == TargetKind::regression; }
  std::int64_t outputs() const;
};

// Throws Error (usage) if glue.class_names names more or fewer classes than the task has.
Targets targets_of(const Settings& settings);
Targets glue_targets(GlueTask task);

TextModelShape classifier_shape(const Settings& settings);

// The word for the task that a folder names ("sst2", "SST-2"). Empty if GLUE has no such task.
std::string glue_task_word(const std::string& name);

// The index in the folder of each class, found by name: the classes or, for a GLUE task, the names
// in Hugging Face's data sets. Empty if the folder uses other names.
std::vector<std::int64_t> class_order(const std::vector<std::string>& theirs,
                                      const Settings& settings);

// The names of a GLUE task's labels in their order: glue.class_names, or the labels themselves.
// Throws Error (usage) if the key names more or fewer.
std::vector<std::string> class_names(const GlueSettings& settings);
// The value of the key for these names. A separator inside a name is removed.
std::string joined_class_names(const std::vector<std::string>& names);

// Whether the names are missing or transformers' default "LABEL_0", "LABEL_1".
bool are_unnamed(const std::vector<std::string>& labels);

// Whether a parameter belongs to the head's last projection, which has a row for each class.
bool has_row_of_each_class(const Settings& settings, const std::string& parameter);
// The rows in that order.
at::Tensor in_class_order(const at::Tensor& value, const std::vector<std::int64_t>& order);

}  // namespace roformer
