// Where a part of a model adds its parameters: a prefix of their names, and the depth at which the
// part begins. With it two parts of one kind stand beside each other in one store.
#pragma once

#include <string>
#include <utility>

#include "tensor/parameters.h"

namespace roformer {

class ParameterScope {
 public:
  // A whole store is the scope of a model's outermost part.
  ParameterScope(ParameterStore& store) : store_(&store) {}  // NOLINT: meant to convert
  // "decoder." and "layers.3." make "decoder.layers.3.".
  ParameterScope within(const std::string& prefix, int depth = 0) const {
    ParameterScope inner = *this;
    inner.prefix_ += prefix;
    inner.depth_ += depth;
    return inner;
  }

  // Name and depth of the spec are those inside the scope.
  at::Tensor add(ParameterSpec spec) const {
    spec.name = prefix_ + spec.name;
    spec.depth += depth_;
    return store_->add(std::move(spec));
  }
  const std::string& prefix() const { return prefix_; }

 private:
  ParameterStore* store_;
  std::string prefix_;
  int depth_ = 0;
};

}  // namespace roformer
