#include "data/data_place.h"

#include "catch.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("data that are not there are missed, whatever the task, but for one that makes its own") {
  const TemporaryFolder folder;
  for (std::size_t task = 0; task < Words<TaskKind>::texts.size(); ++task) {
    CAPTURE(Words<TaskKind>::texts[task]);
    Settings settings;
    settings.task = static_cast<TaskKind>(task);
    const bool made = task_facts(settings.task).data == TaskData::generated;
    CHECK(data_problem(settings).empty() == made);
    settings.data.directory = folder.path / "missing";
    CHECK(data_problem(settings).empty() == made);
  }
}
