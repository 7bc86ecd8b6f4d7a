// A variable that has another value as long as an object lives.
#pragma once

#include <utility>

namespace roformer {

template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Scoped() { variable_ = std::move(before_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace roformer
