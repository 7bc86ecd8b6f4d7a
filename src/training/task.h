// The interface between training and tasks. The trainer knows steps, gradients and checkpoints; the
// task knows its data, model, loss and metrics. A batch is a pure function of its number, so that
// the trainer decides which batches are made, where and when: ahead on other threads, by one
// process or several, again when a run is resumed.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/inner_path.h"
#include "tensor/parameters.h"
#include "training/batch_part.h"
#include "training/distributed/processes.h"
#include "training/training_state.h"

namespace roformer {

// One micro-batch or a part of one. make_batch() leaves it in host memory; copied_to() copies it to
// the device. Each task derives a class from it. A part without tokens is not computed.
struct TrainingBatch {
  virtual ~TrainingBatch() = default;
  std::int64_t target_count = 0;  // targets that the loss is summed over
  std::int64_t tokens = 0;        // that the model reads

  // The sizes of the batch, for passes that are recorded once and repeated with other batches
  // (pass_graphs.h). Batches of equal sizes differ only in the values of their tensors. Empty:
  // cannot be recorded.
  virtual std::vector<std::int64_t> sizes() const { return {}; }
  virtual std::vector<at::Tensor> tensors() const { return {}; }
  // A copy on the device whose tensors can take the values of other batches.
  virtual std::unique_ptr<TrainingBatch> copied_to(at::Device) const { return nullptr; }
};

// Random numbers inside a forward pass (dropout) are a function of this key. No dropout outside
// training.
struct ForwardMode {
  bool training = false;
  std::uint64_t key = 0;  // made from seed, step and micro-batch
  std::int64_t step = 0;  // for choices that last several steps
  // Those that divide the micro-batch, for a loss that needs_other_parts().
  Processes* processes = nullptr;
};

// The quantity to minimise: batches by number, and the loss of a batch.
class TrainingObjective {
 public:
  virtual ~TrainingObjective() = default;

  virtual ParameterStore& parameters() = 0;
  // Micro-batch `number` >= 0 of an endless training. The same number always gives the same batch.
  // Called from several threads at once, so it must not wait for a device.
  virtual std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const = 0;
  // Sum of the loss over the batch's targets, a scalar on the parameters' device with its graph.
  virtual at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) = 0;
  // Whether loss_sum does the same work for all batches of equal sizes, in every step.
  virtual bool repeats_its_work() const { return false; }
  // Whether loss_sum of a part reads the outputs of the micro-batch's other parts, and so waits for
  // the other processes.
  virtual bool needs_other_parts() const { return false; }
};

class TrainingTask : public TrainingObjective {
 public:
  // Micro-batches that make one epoch, for periods in epochs.
  virtual double batches_per_epoch() const = 0;
  // make_batch() and batches_per_epoch() for one stage. A task without stages ignores the stage.
  virtual std::unique_ptr<TrainingBatch> make_batch_of([[maybe_unused]] std::int64_t stage,
                                                       std::int64_t number) const {
    return make_batch(number);
  }
  // A part of that micro-batch. The losses, random numbers and gradients of all its parts add up to
  // those of the whole. Throws Error (usage) for a task whose micro-batches cannot be divided.
  virtual std::unique_ptr<TrainingBatch> make_part_of(std::int64_t stage, std::int64_t number,
                                                      const BatchPart& part) const;
  virtual double batches_per_epoch_of([[maybe_unused]] std::int64_t stage) const {
    return batches_per_epoch();
  }
  // Average tokens of one micro-batch without padding, for periods in tokens.
  virtual double tokens_per_batch() const = 0;
  // The processes share the batches of the validation split; all get the same result.
  virtual Figures validate(Processes& processes) = 0;
  // Writes what a run and each checkpoint need besides the weights (the tokenizer).
  virtual void save_assets(const InnerPath& folder) const = 0;
};

}  // namespace roformer
