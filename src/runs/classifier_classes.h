// The classes of a classifier's head, which stand in the order of the task's labels here and in any
// order in a folder of Hugging Face's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// The task that a folder names ("sst2", "SST-2") as its word; empty where it is none of GLUE's.
std::string glue_task_word(const std::string& name);

// Where each class of the task stands among the folder's, by their names; empty where the names are
// not the task's.
std::vector<std::int64_t> class_order(const std::vector<std::string>& theirs,
                                      const std::vector<std::string>& ours);

// Whether the names say nothing: none, or transformers' own "LABEL_0", "LABEL_1".
bool are_unnamed(const std::vector<std::string>& labels);

// Whether a parameter is the head's last projection, which has a row for each class.
bool has_row_of_each_class(const Settings& settings, const std::string& parameter);
// Its rows by that order.
at::Tensor in_class_order(const at::Tensor& value, const std::vector<std::int64_t>& order);

}  // namespace roformer
