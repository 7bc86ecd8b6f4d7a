#include "attention/denominator_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

namespace roformer {

thread_local DenominatorCheck* DenominatorCheck::present_ = nullptr;

DenominatorCheck::DenominatorCheck() : outer_(present_) {
  present_ = this;
}

DenominatorCheck::~DenominatorCheck() {
  present_ = outer_;
}

void DenominatorCheck::look(const at::Tensor& denominator, const at::Tensor& bound) {
  if (present_ == nullptr) return;
  const at::Tensor shares = (denominator.detach() / bound.detach()).to(at::kFloat);
  const at::Tensor counts = bound.detach() > 0;
  const at::Tensor known = at::where(counts, shares, at::ones_like(shares));
  const auto add = [](at::Tensor& sum, const at::Tensor& more) {
    sum = sum.defined() ? sum + more : more;
  };
  add(present_->count_, counts.sum());
  add(present_->small_, (known < kSmallDenominator).sum());
  const at::Tensor least = known.min();
  present_->least_ = present_->least_.defined() ? at::minimum(present_->least_, least) : least;
}

DenominatorFigures DenominatorCheck::figures() const {
  if (!count_.defined()) return {};
  return {.count = count_.item<std::int64_t>(),
          .small = small_.item<std::int64_t>(),
          .least = least_.item<double>()};
}

}  // namespace roformer
