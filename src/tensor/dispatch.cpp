#include "tensor/dispatch.h"

#include <utility>

#include "tensor/gpu/launch.h"

namespace roformer {
namespace {

thread_local bool composed_forms = false;

}  // namespace

Form form_of(const at::Tensor& x) {
  if (composed_forms) return Form::composed;
  if (gpu::runs_kernels(x)) return Form::gpu_kernels;
  return x.is_cpu() ? Form::loops : Form::composed;
}

bool runs_loops(const at::Tensor& x) {
  return form_of(x) == Form::loops;
}

ComposedForms::ComposedForms() : before_(std::exchange(composed_forms, true)) {}

ComposedForms::~ComposedForms() {
  composed_forms = before_;
}

}  // namespace roformer
