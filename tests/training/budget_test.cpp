// One checkpoint before the decay of wsd serves trainings of several lengths: each is the
// training that had its length from the beginning, bit for bit.

#include "catch.h"
#include "temporary_folder.h"
#include "training/toy_training.h"

namespace roformer {
namespace {

namespace fs = std::filesystem;

TrainingSettings wsd_settings(double steps, double decay) {
  TrainingSettings settings = toy_settings();
  settings.schedule = ScheduleKind::wsd;
  settings.steps.amount = steps;
  settings.decay.amount = decay;
  settings.decay_ratio = 0;
  return settings;
}

std::string last_moments(const fs::path& run) {
  return read_file(find_checkpoint(run, "last") / "optimizer.safetensors");
}

}  // namespace

TEST_CASE("a stable checkpoint serves trainings of several lengths, bit for bit") {
  const TemporaryFolder folder;
  const fs::path stable = folder.path / "stable";
  {
    ToyTask task;
    train_toy(stable, task, wsd_settings(40, 0));
  }
  for (const auto& [steps, decay] : {std::pair{50.0, 10.0}, {73.0, 33.0}, {97.0, 40.0}}) {
    const std::string name = std::to_string(static_cast<int>(steps));
    const fs::path whole = folder.path / ("whole-" + name), branch = folder.path / name;
    const TrainingSettings settings = wsd_settings(steps, decay);
    fs::copy(stable, branch, fs::copy_options::recursive);
    ToyTask from_start, from_stable;
    train_toy(whole, from_start, settings);
    train_toy(branch, from_stable, settings, ExistingRun::resume);
    CHECK(last_weights(branch) == last_weights(whole));
    CHECK(last_moments(branch) == last_moments(whole));
    CHECK(last_weights(branch) != last_weights(stable));
  }
}

}  // namespace roformer
