// The classes of a classifier's head, which stand in the order of the task's labels here and in any
// order in a folder of Hugging Face's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/glue.h"

namespace roformer {

// The task that a folder names ("sst2", "SST-2") as its word; empty where it is none of GLUE's.
std::string glue_task_word(const std::string& name);

// Where each class of the task stands among the folder's, by their names: the task's labels or what
// Hugging Face's data sets call them. Empty where the folder's names are neither.
std::vector<std::int64_t> class_order(const std::vector<std::string>& theirs,
                                      const GlueTaskFacts& task);

// What the task's labels are called, in their order: glue.class_names, or the labels themselves.
// Throws Error (usage) where the key names more or fewer.
std::vector<std::string> class_names(const GlueSettings& settings);
// The key's value for these names; a name loses the sign that separates them.
std::string joined_class_names(const std::vector<std::string>& names);

// Whether the names say nothing: none, or transformers' own "LABEL_0", "LABEL_1".
bool are_unnamed(const std::vector<std::string>& labels);

// Whether a parameter is the head's last projection, which has a row for each class.
bool has_row_of_each_class(const Settings& settings, const std::string& parameter);
// Its rows by that order.
at::Tensor in_class_order(const at::Tensor& value, const std::vector<std::int64_t>& order);

}  // namespace roformer
