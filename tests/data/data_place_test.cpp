#include "data/data_place.h"

#include "catch.h"
#include "config/words.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("data that are not there are missed, whatever the task") {
  const TemporaryFolder folder;
  for (std::size_t task = 0; task < Words<TaskKind>::texts.size(); ++task) {
    CAPTURE(Words<TaskKind>::texts[task]);
    Settings settings;
    settings.task = static_cast<TaskKind>(task);
    CHECK(!data_problem(settings).empty());
    settings.data.directory = folder.path / "missing";
    CHECK(!data_problem(settings).empty());
  }
}
