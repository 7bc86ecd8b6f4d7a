// The positions of tokens: usually start, start + 1, ...; for a text with gaps, an explicit list.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace roformer {

class Positions {
 public:
  // start .. start + count - 1
  static Positions range(std::int64_t start, std::int64_t count);
  static Positions of(std::vector<std::int64_t> values);

  std::int64_t count() const { return count_; }
  std::int64_t operator[](std::int64_t index) const {
    return values_.empty() ? start_ + index : values_[static_cast<std::size_t>(index)];
  }
  // True for start, start + 1, ...: a distance is then the difference of two indices.
  bool contiguous() const { return values_.empty(); }
  std::int64_t least() const;
  std::int64_t largest() const;
  at::Tensor tensor() const;  // [count] int64
  // `count` positions, beginning with the one at index `begin`.
  Positions part(std::int64_t begin, std::int64_t count) const;
  // The positions shifted by an offset.
  Positions shifted(std::int64_t offset) const;
  bool operator==(const Positions&) const = default;

 private:
  std::int64_t start_ = 0;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> values_;
};

}  // namespace roformer
