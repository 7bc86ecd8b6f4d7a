// Estimates a training before it begins: parameters, arithmetic, memory, time and the size of its
// checkpoints. The model is never allocated. Without the data the estimate rests on assumptions,
// which it names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "runs/memory_estimate.h"
#include "tensor/device.h"

namespace roformer {

struct EstimateRequest {
  std::string device;  // "cpu", a measured device's name, or empty: this machine
  std::int64_t processes = 1;
  // These replace the data where they are missing. 0: unknown.
  std::int64_t vocabulary = 0;
  std::int64_t examples = 0;  // of the training set, or its rows of data.length
  double tokens_of_example = 0;
  std::int64_t measured_steps = 0;  // above 0: time so many steps here
};

struct ParameterPart {
  std::string name;
  std::int64_t count = 0;
};

// A stage, or the whole training.
struct EstimatedStage {
  double steps = 0;
  std::int64_t length = 0;
  double rows = 0;          // of a step, over all processes
  double tokens = 0;        // of a step, over all processes; a translator's: of the target
  double gflop = 0;         // of a step, over all processes
  std::int64_t passes = 1;  // of each process in a step
  double seconds = 0;       // of a step; 0: unknown
  MemoryEstimate memory;    // of each process
};

struct EstimatedTime {
  double hours = 0;
  double least = 0, most = 0;  // hours
  double tokens_per_second = 0;
  double gflops_per_second = 0;  // of all processes
  double efficiency = 1;         // share of computing in the time of several processes
  std::string source;            // "an H100's BERT-base, 32 rows of 512: 351 TFLOP/s (RECORD)"
};

struct TrainingEstimate {
  Settings settings;  // with the vocabulary
  ComputePlan plan;
  std::string device;  // "h100", "cpu"
  std::int64_t processes = 1;
  std::int64_t count = 0;  // of parameters
  std::vector<ParameterPart> parameters;
  std::vector<EstimatedStage> stages;  // at least one
  std::uint64_t checkpoint = 0;        // bytes
  std::int64_t checkpoints = 0;        // kept at the end, at most
  std::optional<EstimatedTime> time;
  std::vector<std::string> assumptions;  // a sentence each

  double steps() const;
  double tokens() const;
  double gflop() const;
  const MemoryEstimate& memory() const;  // of the stage that takes the most
};

// Throws Error (usage) if the settings and the request do not say what is needed, or if the
// processes cannot share a step; and as opening the data does, where they are there.
TrainingEstimate estimate_training(const Settings& settings, const EstimateRequest& request);

}  // namespace roformer
