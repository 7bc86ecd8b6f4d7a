#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "training/checkpoint.h"
#include "training/toy_training.h"

namespace roformer {
namespace fs = std::filesystem;

TEST_CASE("a damaged checkpoint is set aside and the one before is gone on from") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.keep_last = 3;
  {
    ToyTask task;
    train_toy(folder.path / "run", task, settings);
  }
  const auto weights = last_weights(folder.path / "run");
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  const std::string name = GENERATE("model.safetensors", "optimizer.safetensors", "state.json");
  std::string contents = read_file(last / name);
  if (name == "state.json") {  // well formed, of the right types, and wrong
    contents.replace(contents.find("\"tokens\": "), 11, "\"tokens\": 1");
  } else {
    contents[contents.size() - 2] = static_cast<char>(contents[contents.size() - 2] ^ 4);
  }
  write_file_atomically(last / name, contents);
  ToyTask task;
  train_toy(folder.path / "run", task, settings, ExistingRun::resume);
  CHECK(fs::exists(last.string() + ".damaged"));
  CHECK(last_weights(folder.path / "run") == weights);
}

TEST_CASE("a damaged checkpoint is set aside and the one before it used") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.keep_last = 2;
  ToyTask task;
  train_toy(folder.path / "run", task, settings);
  const std::string whole = last_weights(folder.path / "run");
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  fs::resize_file(last / "optimizer.safetensors", 100);
  ToyTask again;
  train_toy(folder.path / "run", again, settings, ExistingRun::resume);
  CHECK(fs::exists(last.string() + ".damaged"));
  CHECK(last_weights(folder.path / "run") == whole);
}

TEST_CASE("a checkpoint that the system does not let us read is left as it is") {
  const TemporaryFolder folder;
  ToyTask task;
  train_toy(folder.path / "run", task, toy_settings());
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  const std::string name = GENERATE("state.json", "manifest.json", "optimizer.safetensors");
  ToyTask again;
  const RunDirectory run(folder.path / "run", ExistingRun::resume);
  fs::remove(last / name);
  fs::create_symlink(name, last / name);  // a link to itself cannot be opened
  CHECK_THROWS_AS(train(again, {.settings = toy_settings(), .seed = kSeed, .run = run}), ReadError);
  CHECK(fs::exists(last));
  CHECK(!fs::exists(last.string() + ".damaged"));
}

TEST_CASE("checkpoints that do not fit are refused and kept") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  TrainingSettings settings = toy_settings();
  settings.keep_last = 2;
  ToyTask task;
  train_toy(path, task, settings);
  const auto checkpoints = list_checkpoints(path / "checkpoints");
  REQUIRE(checkpoints.size() >= 2);
  ToyTask wider({.width = 9});
  CHECK_THROWS_WITH(train_toy(path, wider, settings, ExistingRun::resume),
                    Catch::Contains("has the shape [1, 8], this model's has [1, 9]"));
  {
    ToyTask again;
    const RunDirectory run(path, ExistingRun::resume);
    CHECK_THROWS_WITH(train(again, {.settings = settings, .seed = kSeed + 1, .run = run}),
                      Catch::Contains("was made with seed 3, not 4"));
  }
  CHECK(list_checkpoints(path / "checkpoints") == checkpoints);
}

TEST_CASE("a folder of checkpoints that cannot be read is not taken for an empty one") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path / "run", checkpoints = path / "checkpoints";
  CHECK(list_checkpoints(checkpoints).empty());
  const TrainingSettings settings = toy_settings();
  ToyTask task;
  train_toy(path, task, settings);
  const auto whole = list_checkpoints(checkpoints);
  const RunDirectory run(path, ExistingRun::resume);
  std::filesystem::rename(checkpoints, folder.path / "aside");
  std::filesystem::create_symlink("checkpoints", checkpoints);  // to itself: nobody can open that
  CHECK_THROWS_AS(list_checkpoints(checkpoints), ReadError);
  ToyTask again;
  CHECK_THROWS_AS(train(again, {.settings = settings, .seed = kSeed, .run = run}), ReadError);
  std::filesystem::remove(checkpoints);
  std::filesystem::rename(folder.path / "aside", checkpoints);
  CHECK(list_checkpoints(checkpoints) == whole);
  CHECK(std::filesystem::exists(path / "summary.json"));
}

TEST_CASE("a full disk while saving costs no checkpoint") {
  const TemporaryFolder folder;
  const TrainingSettings settings = toy_settings();
  const ToyOptions options{.before_batch = [](std::int64_t batch) {
    if (batch != 16) return;
    // No file may grow any more: what a full disk does, as far as a process can see.
    std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { .rlim_cur = 0, .rlim_max = 0 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }};
  const int status = train_in_child(folder.path / "run", options, settings, ExistingRun::refuse);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 97);
  const auto checkpoints = list_checkpoints(folder.path / "run" / "checkpoints");
  REQUIRE_FALSE(checkpoints.empty());
  CHECK(checkpoints.back().filename() == "step-00000014");
  ToyTask task;
  CHECK(train_toy(folder.path / "run", task, settings, ExistingRun::resume).consumed.steps == 60);
}

}  // namespace roformer
