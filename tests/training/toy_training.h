// Trainings of the toy task, in this process and in one that may be killed.
#pragma once

#include <ATen/Parallel.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "training/checkpoint.h"
#include "training/toy_task.h"
#include "training/trainer.h"

namespace roformer {

inline constexpr std::uint64_t kSeed = 3;

inline TrainingSummary train_toy(const std::filesystem::path& path, ToyTask& task,
                                 const TrainingSettings& settings,
                                 ExistingRun existing = ExistingRun::refuse) {
  const RunDirectory run(path, existing);
  write_file_atomically(run.config(), "task: toy\n");
  return train(task, {.settings = settings, .seed = kSeed, .run = run, .prefetch = {.threads = 0}});
}

inline std::string last_weights(const std::filesystem::path& run) {
  return read_file(find_checkpoint(run, "last") / "model.safetensors");
}

// Runs a training in a child process and returns how that ended (waitpid's status). Threads
// do not survive a fork, hence one thread.
inline int train_in_child(const std::filesystem::path& path, const ToyOptions& options,
                          const TrainingSettings& settings, ExistingRun existing) {
  const pid_t child = ::fork();
  if (child == 0) {
    at::set_num_threads(1);
    try {
      ToyTask task(options);
      const TrainingSummary summary = train_toy(path, task, settings, existing);
      ::_exit(summary.signal == 0 ? 0 : 128 + summary.signal);
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("cannot write") == std::string::npos ? 98 : 97);
    } catch (...) {
      ::_exit(99);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace roformer
