// Part of a forward pass whose intermediate results are not kept: the backward pass computes them
// again from what went in (Chen 2016, arXiv:1604.06174). The same numbers to the last bit, since
// everything random in a body is a function of its key. A parameter's gradient still arrives once,
// when all that contributes to it has been added.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace roformer {

// Called again in the backward pass, it must make the same of the same; it may change none of the
// inputs in place.
using RecomputedBody = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// body(inputs), all defined. Parameters that the body reads need not be among the inputs; other
// tensors with a graph that it takes from outside must go through borrowed(). Without recording it
// is the body's call alone.
std::vector<at::Tensor> recomputed(const std::vector<at::Tensor>& inputs,
                                   const RecomputedBody& body);

// What a body is to use for a tensor that is made outside of it and shared with others: x itself
// where no body runs. A body asks for the same ones in the same order each time.
at::Tensor borrowed(const at::Tensor& x);

}  // namespace roformer
