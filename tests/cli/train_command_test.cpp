// `train` as a user meets it: what a folder in the place of the file means, a run that has ended, a
// run of two steps.
#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "config/dump.h"
#include "has.h"
#include "runs/tiny_run.h"
#include "training/run_directory.h"

using namespace roformer;

namespace {

// A run of three steps, and the file that describes it.
struct TrainCommandRun {
  TinyRun tiny{"rope"};
  std::string file = (tiny.folder.path / "tiny.yaml").string();

  TrainCommandRun() {
    write_file_atomically(file, dump(tiny.settings, DumpStyle::compact));
    train_run(tiny.settings, ExistingRun::refuse);
  }
};

}  // namespace

TEST_CASE("the folder of a run goes on with --resume, and is no configuration without it") {
  const TrainCommandRun trained;
  const std::string run_folder = trained.tiny.run().string();
  const Outcome refused = run({"train", run_folder});
  CHECK(refused.code == 2);
  CHECK(has(refused.errors, "is a folder, wanted a configuration file (hint: --resume continues"));
  CHECK(run({"train", run_folder, "--resume", "--run", "other"}).code == 2);
  const Outcome further = run({"train", run_folder + "/", "--resume", "--training.steps", "5"});
  CAPTURE(further.errors);
  CHECK(further.code == 0);
  CHECK(has(further.output, "tiny: 5 steps"));
  CHECK(has(run({"train", "--resume", run_folder, "--training.steps", "6"}).output, ": 6 steps"));
  CHECK(run({"train", trained.tiny.folder.path.string(), "--resume"}).code == 2);
}

TEST_CASE("a run that has ended says so when it is resumed, and how it would go on") {
  const TrainCommandRun trained;
  const Outcome again = run({"train", trained.tiny.run().string(), "--resume"});
  CHECK(again.code == 0);
  CHECK(has(again.output,
            "tiny: was finished already (training.steps 3); --training.steps 6 continues\n"));
  CHECK(has(again.output, "tiny: 3 steps"));
  const std::string longer = "--training.steps";
  CHECK_FALSE(has(run({"train", trained.file, "--resume", longer, "6"}).output, "already"));
}

TEST_CASE("a smoke run trains two steps beside the run, as often as it is asked for") {
  const TrainCommandRun trained;
  for (int time = 0; time < 2; ++time) {
    const Outcome outcome = run({"train", trained.file, "--smoke"});
    CAPTURE(outcome.errors);
    CHECK(outcome.code == 0);
    CHECK(has(outcome.output, "tiny-smoke: 2 steps"));
    CHECK(has(outcome.output, "best validation, at step 2"));
  }
  CHECK(is_run(trained.tiny.settings.runs / "tiny-smoke"));
  CHECK(run({"train", trained.file, "--smoke", "--resume"}).code == 2);
}
