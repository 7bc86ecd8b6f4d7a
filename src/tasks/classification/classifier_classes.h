// The order and names of a classifier's classes. This program uses the order of the task's labels;
// a Hugging Face folder may use any order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/glue.h"

namespace roformer {

// The word for the task that a folder names ("sst2", "SST-2"). Empty if GLUE has no such task.
std::string glue_task_word(const std::string& name);

// The index in the folder of each class of the task, found by name: the task's labels or the names
// in Hugging Face's data sets. Empty if the folder uses other names.
std::vector<std::int64_t> class_order(const std::vector<std::string>& theirs,
                                      const GlueTaskFacts& task);

// The names of the task's labels in their order: glue.class_names, or the labels themselves. Throws
// Error (usage) if the key names more or fewer.
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
