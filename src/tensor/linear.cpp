#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros_like.h>

#include "tensor/gradient.h"
#include "tensor/operations.h"

namespace roformer {

at::Tensor project(const at::Tensor& x, const at::Tensor& weight) {
  GradientRecorder recorder({x, weight});
  const at::Tensor typed = weight.to(x.scalar_type());
  const bool x_wanted = recorder.wanted(0), weight_wanted = recorder.wanted(1);
  return recorder.finish(at::mm(x, typed.t()),
                         [=, x = x.detach()](const Gradients& gradients) -> Gradients {
                           const at::Tensor gradient = gradients[0].contiguous();
                           at::Tensor x_gradient, weight_gradient;
                           if (x_wanted) x_gradient = at::mm(gradient, typed);
                           if (weight_wanted) {
                             at::Tensor total = weight.grad();
                             if (total.defined() && total.scalar_type() == x.scalar_type()) {
                               total.addmm_(gradient.t(), x);
                             } else if (total.defined()) {
                               total.add_(at::mm(gradient.t(), x));
                             } else {
                               weight_gradient = at::mm(gradient.t(), x).to(weight.scalar_type());
                             }
                           }
                           return {x_gradient, weight_gradient};
                         });
}

at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids) {
  GradientRecorder recorder({table});
  return recorder.finish(at::index_select(table, 0, ids),
                         [table, ids](const Gradients& gradients) -> Gradients {
                           at::Tensor total = table.grad();
                           const bool direct = total.defined();
                           if (!direct) total = at::zeros_like(table);
                           total.index_add_(0, ids, gradients[0].to(table.scalar_type()));
                           return {direct ? at::Tensor() : total};
                         });
}

}  // namespace roformer
