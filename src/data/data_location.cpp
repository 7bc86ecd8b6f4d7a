#include "data/data_location.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "config/task_facts.h"
#include "data/dataset.h"
#include "data/glue.h"
#include "data/matching.h"
#include "data/parallel_dataset.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

void look_at(const fs::path& folder, const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  if (facts.data == TaskData::generated) return;
  if (folder.empty()) {
    throw_usage(std::string(data_key(settings)), "nothing to train on", std::string(facts.data_hint));
  }
  switch (facts.data) {
    case TaskData::prepared_text:
      read_description(folder);
      return;
    case TaskData::parallel_text:
      read_parallel_description(folder);
      return;
    case TaskData::glue_folder:
      find_glue_file(folder, settings.glue.task, GlueSplit::train);
      return;
    case TaskData::labelled_files:
      for (const fs::path& file : {settings.data.train, settings.data.validation}) {
        if (file.empty() || is_present(file)) continue;
        throw_failure(file.string(), "there is no such file");
      }
      return;
    case TaskData::matching_folder:
      find_matching_file(folder, Split::train);
      return;
    case TaskData::generated:
      return;
  }
}

}  // namespace

std::string data_problem(const Settings& settings) {
  try {
    look_at(data_path(settings), settings);
    for (const DataSource& source : settings.data.sources) look_at(source.directory, settings);
    for (const StageSettings& stage : settings.stages) {
      if (!stage.directory.empty()) look_at(stage.directory, settings);
    }
  } catch (const Error& problem) {
    return problem.what();
  }
  return "";
}

std::string split_problem(const Settings& settings, Split split) {
  const fs::path& folder = settings.data.directory;
  bool empty = false;
  try {
    switch (task_facts(settings.task).data) {
      case TaskData::prepared_text:
        empty = read_description(folder)[split].counts.tokens == 0;
        break;
      case TaskData::parallel_text:
        empty = read_parallel_description(folder)[split].sentences == 0;
        break;
      case TaskData::glue_folder:
      case TaskData::labelled_files:
      case TaskData::matching_folder:
      case TaskData::generated:
        break;
    }
  } catch (const Error&) {  // data_problem says so
  }
  return empty ? fmt::format("{} has no {} set", folder.string(), to_string(split)) : "";
}

std::string how_to_prepare(const fs::path& folder, const std::string& source) {
  const fs::path set =
      (folder / "").lexically_normal().parent_path();  // without a slash at its end
  const fs::path recipe = set.parent_path().parent_path() / (set.filename().string() + ".yaml");
  std::error_code error;
  const bool known =
      set.parent_path().filename() == "prepared" && fs::is_regular_file(recipe, error);
  return fmt::format("make {}: roformer data prepare {} --output {}", known ? "it" : "one",
                     known ? recipe.string() : source, folder.string());
}

}  // namespace roformer
