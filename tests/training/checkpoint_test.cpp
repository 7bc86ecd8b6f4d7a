#include "training/checkpoint.h"

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "catch.h"
#include "temporary_folder.h"
#include "text/tokenizer.h"
#include "training/saved_run.h"
#include "training/toy_training.h"
#include "training/training_state.h"

namespace roformer {
namespace fs = std::filesystem;

TEST_CASE("half-written checkpoints are not seen, and go") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  fs::create_directories(path / "checkpoints" / "step-00000020.partial");
  CHECK(names(path) == std::vector<std::string>{"step-00000010"});
  const RunDirectory run(path, ExistingRun::resume);
  CHECK_FALSE(fs::exists(path / "checkpoints" / "step-00000020.partial"));
}

TEST_CASE("a checkpoint whose state is lost is not passed over in silence") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  save(path, 20, 1.0);
  const fs::path lost = path / "checkpoints" / "step-00000020";
  fs::remove(lost / "state.json");
  CHECK_THROWS_WITH(find_checkpoint(path), Catch::Contains("the best checkpoint is unknown"));
  CHECK_THROWS_WITH(find_checkpoint(lost), Catch::Contains("is missing"));
  CHECK_THROWS_WITH(find_checkpoint(lost / ""), Catch::Contains("is missing"));
  CHECK(find_checkpoint(path, "10").filename() == "step-00000010");
  CHECK_FALSE(has_gone(lost));
  prune_checkpoints(path / "checkpoints", {.last = 1, .best = 1});
  CHECK(names(path) == std::vector<std::string>{"step-00000010", "step-00000020"});
}

TEST_CASE("the best, the last and a step are found, and pruning keeps them") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  CHECK_THROWS_WITH(find_checkpoint(path), Catch::Contains("holds no checkpoint"));
  save(path, 10, 3.0);
  save(path, 20, 1.0);
  save(path, 30, 2.0);
  save(path, 40, std::nullopt);
  save(path, 50, 4.0);
  CHECK(find_checkpoint(path).filename() == "step-00000020");
  CHECK(find_checkpoint(path, "last").filename() == "step-00000050");
  CHECK(find_checkpoint(path, "40").filename() == "step-00000040");
  CHECK(find_checkpoint(path / "checkpoints" / "step-00000030").filename() == "step-00000030");
  CHECK_THROWS_WITH(find_checkpoint(path, "15"), Catch::Contains("there are 10, 20, 30, 40, 50"));
  CHECK_THROWS_WITH(find_checkpoint(path, "newest"), Catch::Contains("best, last or a step"));
  SECTION("a state that cannot be read now may be the best's") {
    const fs::path state = path / "checkpoints" / "step-00000010" / "state.json";
    fs::rename(state, path / "state.json");
    fs::create_directory(state);
    prune_checkpoints(path / "checkpoints", {.last = 1, .best = 1});
    CHECK(names(path) ==
          std::vector<std::string>{"step-00000010", "step-00000020", "step-00000050"});
    fs::remove(state);
    fs::rename(path / "state.json", state);
    prune_checkpoints(path / "checkpoints", {.last = 1, .best = 1});
    CHECK(names(path) == std::vector<std::string>{"step-00000020", "step-00000050"});
    return;
  }
  prune_checkpoints(path / "checkpoints", {.last = 2, .best = 2});
  CHECK(names(path) == std::vector<std::string>{"step-00000020", "step-00000030", "step-00000040",
                                                "step-00000050"});
  prune_checkpoints(path / "checkpoints", {.last = 0, .best = 0});
  CHECK(names(path) == std::vector<std::string>{"step-00000050"});
}

TEST_CASE(
    "a state that an earlier version of the program wrote is read, and all that counts written") {
  // Of commit c9e27a4, whose tasks kept their own cursors: a masked language model after 17 steps
  // of 2 micro-batches.
  const TrainingState state = read_training_state(FIXTURES);
  CHECK(state.consumed.steps == 17);
  CHECK(state.next_batch == 34);
  auto expected = nlohmann::json::parse(read_file(fs::path(FIXTURES) / kStateFile));
  expected["window"].erase("padding");  // which no task ever had
  for (auto& validation : expected["validations"]) validation.erase("tokens");
  CHECK(to_json(state) == expected);
}

TEST_CASE("state.json does not grow with every validation, and none is lost where a run goes on") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.steps = {200, Period::Unit::steps};
  settings.validate_every = {1, Period::Unit::steps};
  settings.keep_best = 3;
  const auto size = [](const fs::path& run) {
    return fs::file_size(find_checkpoint(run, "last") / "state.json");
  };
  TrainingSummary whole;
  {
    ToyTask task;
    whole = train_toy(folder.path / "whole", task, settings);
  }
  settings.steps = {100, Period::Unit::steps};
  settings.schedule = ScheduleKind::constant;
  {
    ToyTask task;
    train_toy(folder.path / "part", task, settings);
  }
  CHECK(static_cast<double>(size(folder.path / "whole")) <
        1.3 * static_cast<double>(size(folder.path / "part")));
  CHECK(read_training_state(find_checkpoint(folder.path / "whole", "last")).validations.size() <=
        2 * kStoredValidations);
  settings.steps = {150, Period::Unit::steps};
  const bool lost = GENERATE(false, true);
  if (lost) fs::remove(folder.path / "part" / "metrics.jsonl");
  ToyTask task;
  const TrainingSummary gone_on =
      train_toy(folder.path / "part", task, settings, ExistingRun::resume);
  if (lost) {
    CHECK(gone_on.validations.size() >= 50 + kStoredValidations);
  } else {
    REQUIRE(gone_on.validations.size() == 150);
    for (std::size_t i = 0; i < 150; ++i) {
      CHECK(gone_on.validations[i].step == static_cast<std::int64_t>(i) + 1);
    }
  }
  CHECK(gone_on.validations.back().step == 150);
}

TEST_CASE(
    "a checkpoint that is not this model's, or not whole, is refused before anything changes") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  const fs::path checkpoint = find_checkpoint(path);
  const auto refused = [&](ToyOptions options, const std::string& message) {
    ToyTask task(std::move(options));
    Optimizer optimizer(task.parameters(), {});
    const at::Tensor before = task.parameters().flat_values().clone();
    CHECK_THROWS_WITH(load_checkpoint(checkpoint, {task.parameters(), optimizer.moments()}),
                      Catch::Contains(message));
    CHECK(at::equal(task.parameters().flat_values(), before));
  };
  refused({.width = 9}, "\"linear.weight\" has the shape [1, 8], this model's has [1, 9]");
  const std::string state = read_file(checkpoint / "state.json");
  const auto with = [&](const std::string& field, const nlohmann::json& value) {
    nlohmann::json changed = nlohmann::json::parse(state);
    changed[field] = value;
    changed.erase("checksum");
    write_file_atomically(checkpoint / "state.json", changed.dump());
  };
  with("version", 2);
  refused({}, "has version 2, this program reads 1");
  with("step", 11);
  refused({}, "is of step 11");
  with("step", -1);
  refused({}, "\"step\" is -1, wanted an integer of at least 0");
  with("window", 3);
  refused({}, "\"window\" is 3, wanted an object");
  with("validations", {{{"step", 10}}});
  refused({}, "has no field validations[0].");
  write_file_atomically(checkpoint / "state.json", state.substr(0, state.size() / 2));
  refused({}, "state.json: is not JSON from line");
  write_file_atomically(checkpoint / "state.json", std::string(200'000, '['));
  refused({}, "nests lists and objects deeper than 100");
  write_file_atomically(checkpoint / "state.json", state);
  // Every field is demanded.
  nlohmann::json whole = nlohmann::json::parse(state);
  whole.erase("checksum");
  for (const auto& [name, value] : whole.items()) {
    INFO(name);
    nlohmann::json changed = whole;
    changed.erase(name);
    CHECK_THROWS_AS(training_state_from_json(changed, "state.json"), Error);
    changed[name] = "wrong";
    CHECK_THROWS_AS(training_state_from_json(changed, "state.json"), Error);
  }
  fs::resize_file(checkpoint / "model.safetensors",
                  fs::file_size(checkpoint / "model.safetensors") - 1);
  refused({}, "is not a whole safetensors file");
}

namespace {

void flip(const fs::path& file, std::size_t byte, int bit) {
  std::string contents = read_file(file);
  contents.at(byte) = static_cast<char>(contents.at(byte) ^ (1 << bit));
  std::ofstream(file, std::ios::binary) << contents;
}

}  // namespace

TEST_CASE("one flipped bit in a file of a checkpoint is found, and named") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  const fs::path checkpoint = find_checkpoint(path);
  CHECK_NOTHROW(require_whole(checkpoint));
  const std::uint64_t weights = fs::file_size(checkpoint / "model.safetensors");
  flip(checkpoint / "model.safetensors", weights - 1, 6);
  const std::string message = (checkpoint / "model.safetensors").string() +
                              ": is damaged: bytes 0 to " + std::to_string(weights - 1) +
                              " are not what was written, part of linear.weight, linear.bias";
  CHECK_THROWS_WITH(require_whole(checkpoint), message);
  CHECK_THROWS_WITH(require_sound(checkpoint), message);
  flip(checkpoint / "model.safetensors", weights - 1, 6);
  // A model is opened without the moments.
  flip(checkpoint / "optimizer.safetensors",
       fs::file_size(checkpoint / "optimizer.safetensors") - 1, 0);
  CHECK_NOTHROW(require_sound(checkpoint));
  CHECK_THROWS_WITH(require_whole(checkpoint), Catch::Contains("first_moment.linear.weight"));
}

TEST_CASE("no flipped bit of a checkpoint is used without a word") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  const fs::path checkpoint = find_checkpoint(path);
  const auto state = [&] { return to_json(read_training_state(checkpoint)); };
  const nlohmann::json whole = state();
  for (const auto& entry : fs::directory_iterator(checkpoint)) {
    const fs::path& file = entry.path();
    const std::uint64_t size = fs::file_size(file);
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t byte = random_key({7, static_cast<std::uint64_t>(i)}) % size;
      flip(file, byte, i % 8);
      CAPTURE(file, byte, i % 8);
      try {
        require_whole(checkpoint);
        CHECK(file.extension() == ".json");  // spaces between values, at most
        CHECK(state() == whole);
      } catch (const Error&) {
      }
      flip(file, byte, i % 8);
    }
    const std::string contents = read_file(file);
    fs::resize_file(file, size / 2);
    CHECK_THROWS_AS(require_whole(checkpoint), Error);
    write_file_atomically(file, contents);
  }
  CHECK_NOTHROW(require_whole(checkpoint));
}

TEST_CASE("a checkpoint without a manifest is read as it always was") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  const fs::path checkpoint = find_checkpoint(path);
  fs::remove(checkpoint / "manifest.json");
  CHECK_NOTHROW(require_whole(checkpoint));
  CHECK_NOTHROW(require_sound(checkpoint));
}

TEST_CASE("a checkpoint that training removes meanwhile is replaced by what is the best by then") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 3.0);
  std::vector<std::string> tried;
  const auto use = [&](const fs::path& checkpoint) {
    tried.push_back(checkpoint.filename().string());
    if (tried.size() == 1) {
      save(path, 20, 1.0);
      prune_checkpoints(path / "checkpoints", {.last = 1, .best = 1});
    }
    return read_file(checkpoint / "state.json").size();
  };
  CHECK(use_checkpoint(path, "best", use) > 0);
  CHECK(tried == std::vector<std::string>{"step-00000010", "step-00000020"});
  tried = {"", ""};
  CHECK_THROWS_WITH(use_checkpoint(path, "10", use), Catch::Contains("has no checkpoint of step"));
}

TEST_CASE("of equal figures the lower loss is the better one") {
  const auto record = [](std::int64_t step, double accuracy, double loss) {
    return ValidationRecord{.step = step,
                            .figures = {{"accuracy", accuracy}, {"loss", loss}},
                            .ranking = {.figure = "accuracy", .higher_is_better = true}};
  };
  CHECK(is_better(record(2, 0.5, 1.5), record(1, 0.5, 2)));
  CHECK_FALSE(is_better(record(1, 0.5, 2), record(2, 0.5, 1.5)));
  CHECK_FALSE(is_better(record(2, 0.5, 1.5), record(1, 0.5, 1.5)));
  CHECK(is_better(record(1, 0.6, 2), record(2, 0.5, 1.5)));
  const std::vector<ValidationRecord> all{record(1, 0.5, 2), record(2, 0.5, 1.5),
                                          record(3, 0.5, 1.5)};
  CHECK(best_of(all)->step == 2);
}

}  // namespace roformer
