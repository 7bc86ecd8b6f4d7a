#include "tensor/loops.h"

#include <utility>

namespace roformer {
namespace {

thread_local bool composed_forms = false;

}  // namespace

bool runs_loops(const at::Tensor& x) {
  return x.is_cpu() && !composed_forms;
}

ComposedForms::ComposedForms() : before_(std::exchange(composed_forms, true)) {}

ComposedForms::~ComposedForms() {
  composed_forms = before_;
}

}  // namespace roformer
