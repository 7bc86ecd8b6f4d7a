// Lets a test run an operation in each of its forms on a CPU.
#pragma once

#include <optional>

#include "tensor/dispatch.h"
#include "tensor/gpu/emulation.h"

namespace roformer {

// As long as it lives, the optimiser takes this form.
class FormTaken {
 public:
  explicit FormTaken(Form form) {
    if (form == Form::composed) composed_.emplace();
    if (form == Form::gpu_kernels) emulation_.emplace(emulate_kernel);
  }

 private:
  std::optional<ComposedForms> composed_;
  std::optional<gpu::KernelEmulation> emulation_;
};

}  // namespace roformer
