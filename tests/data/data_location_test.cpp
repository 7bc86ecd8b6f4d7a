#include "data/data_location.h"

#include "base/file.h"
#include "catch.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/data_location.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("who misses a prepared set is told of its recipe") {
  const TemporaryFolder folder;
  const auto prepared = folder.path / "prepared" / "mine";
  CHECK(how_to_prepare(prepared, "FILES") ==
        "make one: roformer data prepare FILES --output " + prepared.string());
  const auto recipe = folder.path / "mine.yaml";
  write_file_atomically(recipe, "name: mine\n");
  for (const auto& way : {prepared, prepared / ""}) {
    CHECK(has(how_to_prepare(way, "FILES"), "make it: roformer data prepare " + recipe.string()));
  }
  CHECK(has(how_to_prepare(folder.path / "other" / "mine", "FILES"), "FILES"));
  CHECK(has(how_to_prepare("mine", "RECIPE"), "prepare RECIPE"));
}

TEST_CASE("data that are not there are missed, whatever the task, but for one that makes its own") {
  const TemporaryFolder folder;
  for (const TaskFacts& facts : all_task_facts()) {
    CAPTURE(facts.name);
    Settings settings;
    settings.task = facts.task;
    const bool made = facts.data == TaskData::generated;
    CHECK(data_problem(settings).empty() == made);
    settings.data.directory = folder.path / "missing";
    CHECK(data_problem(settings).empty() == made);
  }
}
