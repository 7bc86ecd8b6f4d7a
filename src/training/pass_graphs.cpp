#include "training/pass_graphs.h"

#include <exception>
#include <utility>

#include "base/log.h"
#include "tensor/device.h"
#include "tensor/gpu/launch.h"

namespace roformer {
namespace {

// Plain passes before a graph is recorded: they compile kernels, plan products and fill tables, and
// rare sizes need no graph.
constexpr std::int64_t kPassesBefore = 2;
constexpr std::size_t kMostGraphs = 64;
// Unpadded texts keep having new sizes. Only this many are remembered; later sizes run without a
// graph.
constexpr std::size_t kMostSizes = 512;

// A graph keeps a pass's temporary memory in addition to that of plain passes.
bool has_memory(const at::Tensor& on_device) {
  if (on_device.is_cpu()) return true;
  constexpr double kSpare = 1.2;
  return static_cast<double>(free_gpu_memory()) > kSpare * static_cast<double>(peak_gpu_memory());
}

std::string first_line_of(const std::exception& problem) {
  const std::string words = problem.what();
  return words.substr(0, words.find('\n'));
}

}  // namespace

at::Tensor plain_pass(TrainingObjective& objective, const TrainingBatch& batch,
                      const ForwardMode& mode, const std::function<void()>& forward_done) {
  const at::Tensor loss = objective.loss_sum(batch, mode);
  forward_done();
  if (loss.requires_grad()) loss.backward();  // not that of a part without sequences
  return loss.detach();
}

PassGraphs::PassGraphs(TrainingObjective& objective, gpu::MakeDeviceGraph make)
    : objective_(objective), make_(std::move(make)) {}

at::Tensor PassGraphs::pass(const TrainingBatch& batch, const ForwardMode& mode) {
  const std::vector<std::int64_t> sizes = batch.sizes();
  const bool unknown = !alike_.contains(sizes);
  if (sizes.empty() || batch.target_count == 0 || (unknown && alike_.size() >= kMostSizes)) {
    return plain_pass(objective_, batch, mode);
  }
  Alike& alike = alike_[sizes];
  const bool ready =
      alike.recorded != nullptr || (alike.passes++ >= kPassesBefore && graphs_ < kMostGraphs &&
                                    reason_.empty() && record(alike, batch, mode));
  return ready ? repeat(*alike.recorded, batch, mode.key) : plain_pass(objective_, batch, mode);
}

void PassGraphs::forget() {
  alike_.clear();
  graphs_ = 0;
  reason_.clear();
}

bool PassGraphs::record(Alike& alike, const TrainingBatch& batch, const ForwardMode& mode) {
  const at::Tensor& values = objective_.parameters().flat_values();
  if (!has_memory(values)) {
    reason_ = "the GPU has no memory to spare for them";
  } else {
    try {
      auto made = std::make_unique<Recorded>();
      made->batch = batch.copied_to(values.device());
      made->recording = std::make_unique<GraphRecording>(mode.key, values.device());
      made->graph = make_();
      const GraphRecording::Scope scope(*made->recording);
      made->graph->record([this, own = made.get(), mode] {
        own->loss = plain_pass(objective_, *own->batch, mode);
      });
      alike.recorded = std::move(made);
      ++graphs_;
      return true;
    } catch (const std::exception& problem) {
      reason_ = first_line_of(problem);
    }
  }
  log::info("no more passes are recorded as graphs: {}", reason_);
  return false;
}

at::Tensor PassGraphs::repeat(Recorded& recorded, const TrainingBatch& batch, std::uint64_t key) {
  const std::vector<at::Tensor> from = batch.tensors(), to = recorded.batch->tensors();
  for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i], /*non_blocking=*/true);
  recorded.recording->renew(key);
  recorded.graph->repeat();
  ++repeated_;
  return recorded.loss.clone();
}

std::unique_ptr<PassGraphs> make_pass_graphs(TrainingObjective& objective,
                                             const TrainingSettings& settings,
                                             const Processes* processes) {
  const at::Tensor& values = objective.parameters().flat_values();
  if (!settings.graphs || settings.check_finite || !values.is_cuda() ||
      !gpu::runs_kernels(values) || !objective.repeats_its_work() ||
      (processes != nullptr && !processes->alone())) {
    return nullptr;
  }
  gpu::DeviceGraphs graphs = gpu::device_graphs();
  if (graphs.make == nullptr) {
    log::info("passes are not recorded as graphs: {}", graphs.reason);
    return nullptr;
  }
  return std::make_unique<PassGraphs>(objective, std::move(graphs.make));
}

}  // namespace roformer
