// The operations of formulas on tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "config/formula/expression.h"

namespace roformer {

// One operation of 1, 2 or 3 arguments that broadcast; with gradients. A number is a tensor of no
// dimensions (formula_number), which leaves the others' type as it is. Conditions are bool.
at::Tensor apply_formula(FormulaOperation operation, const std::vector<at::Tensor>& arguments);
at::Tensor formula_number(double number);

// Whether gradients of the operation are computed from its result, which must stay as it is then.
bool keeps_result(FormulaOperation operation);

}  // namespace roformer
