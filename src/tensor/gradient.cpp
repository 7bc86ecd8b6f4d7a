#include "tensor/gradient.h"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/scoped.h"

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
    // An output may be a view, or an input that was changed in place: its graph starts here.
    output = output.detach();
    torch::autograd::set_history(output, node);
  }
  return outputs;
}

namespace {

// x without its graph, as an input of a body's graph; it needs a gradient if x does.
at::Tensor leaf_of(const at::Tensor& x) {
  at::Tensor leaf = x.detach();
  leaf.set_requires_grad(x.requires_grad());
  return leaf;
}

std::vector<at::Tensor> leaves_of(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& x : tensors) leaves.push_back(leaf_of(x));
  return leaves;
}

// The tensors that the body on this thread borrows: noted in its first run, returned in its second.
class Loan {
 public:
  Loan() = default;
  explicit Loan(std::vector<at::Tensor> leaves) : leaves_(std::move(leaves)), again_(true) {}

  static Loan* present() { return present_; }

  // The same leaf for the same tensor.
  at::Tensor borrow(const at::Tensor& x) {
    for (std::size_t i = 0; i < owned_.size(); ++i) {
      if (owned_[i].is_same(x)) return leaves_[i];
    }
    owned_.push_back(x);
    if (!again_) leaves_.push_back(leaf_of(x));
    ROFORMER_ASSERT(owned_.size() <= leaves_.size());
    const at::Tensor& leaf = leaves_[owned_.size() - 1];
    ROFORMER_ASSERT(leaf.sizes() == x.sizes());
    return leaf;
  }

  const std::vector<at::Tensor>& owned() const { return owned_; }  // with their graphs
  const std::vector<at::Tensor>& leaves() const { return leaves_; }

 private:
  static inline constinit thread_local Loan* present_ = nullptr;
  Scoped<Loan*> scope_{present_, this};
  std::vector<at::Tensor> owned_, leaves_;
  bool again_ = false;
};

// The parameters that a body's outputs depend on: the leaves of their graph without the known ones.
std::vector<at::Tensor> parameters_behind(const std::vector<at::Tensor>& outputs,
                                          const std::vector<at::Tensor>& known) {
  std::unordered_set<const c10::TensorImpl*> seen_leaves;
  for (const at::Tensor& x : known) seen_leaves.insert(x.unsafeGetTensorImpl());
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open;
  std::vector<at::Tensor> parameters;
  const auto visit = [&](torch::autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const at::Tensor& x : outputs) visit(x.grad_fn().get());
  while (!open.empty()) {
    torch::autograd::Node* const node = open.back();
    open.pop_back();
    if (const auto* const leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(node)) {
      const at::Tensor& variable = leaf->variable;
      if (seen_leaves.insert(variable.unsafeGetTensorImpl()).second) parameters.push_back(variable);
    }
    for (const torch::autograd::Edge& edge : node->next_edges()) visit(edge.function.get());
  }
  return parameters;
}

// The data of a recomputed body until the backward pass.
struct KeptBody {
  std::vector<at::Tensor> inputs, loans;  // without their graphs
  std::vector<at::Tensor> parameters;
  RecomputedBody body;
};

// The gradients of the kept tensors in their order.
Gradients backward(const KeptBody& kept, const Gradients& gradients) {
  const c10::AutoGradMode recording(true);
  const std::vector<at::Tensor> inputs = leaves_of(kept.inputs), loans = leaves_of(kept.loans);
  std::vector<at::Tensor> outputs;
  {
    const Loan loan(loans);
    outputs = kept.body(inputs);
  }
  torch::autograd::edge_list roots, wanted;
  torch::autograd::variable_list flowing;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
    roots.push_back(torch::autograd::impl::gradient_edge(outputs[i]));
    flowing.push_back(gradients[i]);
  }
  std::vector<std::size_t> indices;
  Gradients results;
  for (const std::vector<at::Tensor>* all : {&inputs, &loans, &kept.parameters}) {
    for (const at::Tensor& x : *all) {
      if (x.requires_grad()) {
        indices.push_back(results.size());
        wanted.push_back(torch::autograd::impl::gradient_edge(x));
      }
      results.emplace_back();
    }
  }
  if (roots.empty() || wanted.empty()) return results;
  // Some operations add to a parameter's gradient themselves, here; the other gradients are
  // returned.
  const torch::autograd::variable_list found =
      torch::autograd::Engine::get_default_engine().execute(roots, flowing, /*keep_graph=*/false,
                                                            /*create_graph=*/false,
                                                            /*accumulate_grad=*/false, wanted);
  for (std::size_t i = 0; i < indices.size(); ++i) results[indices[i]] = found[i];
  return results;
}

}  // namespace

at::Tensor borrowed(const at::Tensor& x) {
  Loan* const loan = Loan::present();
  return loan != nullptr && x.defined() && x.requires_grad() ? loan->borrow(x) : x;
}

std::vector<at::Tensor> recomputed(const std::vector<at::Tensor>& inputs,
                                   const RecomputedBody& body) {
  if (!c10::GradMode::is_enabled()) return body(inputs);
  KeptBody kept{.inputs = leaves_of(inputs), .body = body};
  std::vector<at::Tensor> outputs, owned;
  {
    // Recorded only to find the parameters; this graph is freed at the end of the block.
    const std::vector<at::Tensor> leaves = leaves_of(inputs);
    Loan loan;
    outputs = body(leaves);
    owned = loan.owned();
    std::vector<at::Tensor> known = leaves;
    known.insert(known.end(), loan.leaves().begin(), loan.leaves().end());
    kept.parameters = parameters_behind(outputs, known);
  }
  kept.loans = leaves_of(owned);
  std::vector<at::Tensor> sources = inputs;
  sources.insert(sources.end(), owned.begin(), owned.end());
  sources.insert(sources.end(), kept.parameters.begin(), kept.parameters.end());
  GradientRecorder recorder("recomputation", std::move(sources));
  for (at::Tensor& output : outputs) output = output.detach();
  return recorder.finish(std::move(outputs), [kept = std::move(kept)](const Gradients& gradients) {
    return backward(kept, gradients);
  });
}

}  // namespace roformer
