// The files of the GLUE benchmark (Wang et al. 2018) in their usual layout: one folder per task
// with train.tsv, dev.tsv and test.tsv. The reader finds columns by name, because the tasks and
// even the splits of one task differ. Quotation marks are ordinary text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/glue_settings.h"
#include "data/labelled_texts.h"

namespace roformer {

enum class GlueSplit { train, validation, validation_mismatched, test, test_mismatched };

struct GlueTaskFacts {
  GlueTask task;
  std::string folder;               // "SST-2"
  bool pairs = false;               // two sentences an example
  std::vector<std::string> labels;  // by class number; empty: regression (STS-B, 0 to 5)
  // Columns of the task's files; `second` is empty for single sentences.
  std::string first, second, label;
  std::vector<std::string> names = {};          // of the labels 0 and 1 in Hugging Face's data sets
  std::string hub_first = {}, hub_second = {};  // columns there, where they have other names

  bool is_regression() const { return labels.empty(); }
  // The test sets and the names of their files for the benchmark's server.
  std::vector<std::pair<GlueSplit, std::string>> submissions() const;
};
const GlueTaskFacts& glue_task_facts(GlueTask task);

// The file of a split. Throws Error (failure) if there is none.
std::filesystem::path find_glue_file(const std::filesystem::path& directory, GlueTask task,
                                     GlueSplit split);

// `directory` is the folder of all tasks or of this task. Throws Error (failure) naming the file
// and, for a row with the wrong number of columns or an unknown label, the line.
LabelledTexts read_glue(const std::filesystem::path& directory, GlueTask task, GlueSplit split);

}  // namespace roformer
