#include "position/positions.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"

namespace roformer {

Positions Positions::range(std::int64_t start, std::int64_t count) {
  Positions result;
  result.start_ = start;
  result.count_ = count;
  return result;
}

Positions Positions::of(std::vector<std::int64_t> values) {
  ROFORMER_ASSERT(!values.empty());
  bool contiguous = true;
  for (std::size_t i = 1; i < values.size(); ++i) contiguous &= values[i] == values[i - 1] + 1;
  Positions result = range(values.front(), static_cast<std::int64_t>(values.size()));
  if (!contiguous) result.values_ = std::move(values);
  return result;
}

std::int64_t Positions::least() const {
  return values_.empty() ? start_ : *std::ranges::min_element(values_);
}

std::int64_t Positions::largest() const {
  return values_.empty() ? start_ + count_ - 1 : *std::ranges::max_element(values_);
}

at::Tensor Positions::tensor() const {
  if (values_.empty()) return at::arange(start_, start_ + count_, at::kLong);
  return at::tensor(values_, at::kLong);
}

Positions Positions::part(std::int64_t begin, std::int64_t count) const {
  ROFORMER_ASSERT(begin >= 0 && count >= 0 && begin + count <= count_);
  if (contiguous()) return range(start_ + begin, count);
  const auto first = values_.begin() + begin;
  return of({first, first + count});
}

Positions Positions::shifted(std::int64_t offset) const {
  Positions result = *this;
  result.start_ += offset;
  for (std::int64_t& value : result.values_) value += offset;
  return result;
}

}  // namespace roformer
