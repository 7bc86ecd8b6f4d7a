// `train --model.from` says where a configuration computes otherwise than the model it starts from.
#include <fstream>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "runs/model_folders.h"
#include "runs/tiny_glue.h"

using namespace roformer;

TEST_CASE("a recipe that sets the dropout of an imported model to 0 is told") {
  const TinyGlue tiny("sst2");
  const auto file = tiny.folder.path / "recipe.yaml";
  const auto log_of = [&](const std::string& recipe, const std::string& name) {
    std::ofstream(file) << recipe;
    const Outcome outcome = run(
        {"train", file.string(), "--glue.task", "sst2", "--data.directory", tiny.data().string(),
         "--model.from", model_folder("bert").string(), "--data.length", "16", "--training.steps",
         "1", "--threads", "1", "--runs", (tiny.folder.path / "runs").string(), "--run", name});
    CAPTURE(outcome.errors);
    CHECK(outcome.code == 0);
    return read_file(tiny.folder.path / "runs" / name / "log.txt");
  };
  const std::string told =
      log_of("task: glue\nattention:\n  dropout: 0\nmodel:\n  activation: relu\n", "other");
  CHECK(has(told, "attention.dropout is 0 here, 0.1 in " + model_folder("bert").string()));
  CHECK(has(told, "model.activation is relu here"));
  CHECK(!has(log_of("task: glue\n", "same"), " here, "));
}
