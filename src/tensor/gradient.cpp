#include "tensor/gradient.h"

#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

struct ClosureNode : torch::autograd::Node {
  const char* title = "";
  Backward backward;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    ROFORMER_ASSERT(backward != nullptr);
    return backward(gradients);
  }
  std::string name() const override { return title; }
  void release_variables() override { backward = nullptr; }
};

bool any_wants_gradient(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.requires_grad()) return true;
  }
  return false;
}

}  // namespace

ParameterGradient::ParameterGradient(const at::Tensor& parameter, std::int64_t count,
                                     const at::TensorOptions& options) {
  if (parameter.defined() && parameter.is_leaf() && parameter.requires_grad()) {
    const at::Tensor& own = parameter.grad();
    if (own.defined() && own.is_contiguous() &&
        own.scalar_type() == options.dtype().toScalarType()) {
      total = own;
      return;
    }
  }
  total = at::zeros({count}, options);
  if (parameter.defined()) returned = total.view(parameter.sizes());
}

GradientRecorder::GradientRecorder(const char* name, std::vector<at::Tensor> inputs)
    : name_(name),
      scope_(name),
      inputs_(std::move(inputs)),
      wanted_(c10::GradMode::is_enabled() && any_wants_gradient(inputs_)),
      silence_(false) {}

bool GradientRecorder::wanted(std::size_t index) const {
  return wanted_ && inputs_[index].defined() && inputs_[index].requires_grad();
}

at::Tensor GradientRecorder::finish(const at::Tensor& output, Backward backward) {
  return finish(std::vector<at::Tensor>{output}, std::move(backward))[0];
}

std::vector<at::Tensor> GradientRecorder::finish(std::vector<at::Tensor> outputs,
                                                 Backward backward) {
  if (!wanted_) return outputs;
  const c10::AutoGradMode recording(true);
  auto node = std::shared_ptr<ClosureNode>(new ClosureNode(), torch::autograd::deleteNode);
  node->title = name_;
  node->backward = std::move(backward);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs_));
  for (at::Tensor& output : outputs) {
    // An output may be an input that was changed in place or a view; the graph starts anew here.
    output = output.detach();
    torch::autograd::set_history(output, node);
  }
  return outputs;
}

}  // namespace roformer
