// Where a part of a model adds its parameters: a prefix of their names, and the depth at which the
// part begins. With it two parts of one kind stand beside each other in one store.
#pragma once

#include <ATen/ops/zeros.h>

#include <functional>
#include <optional>
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

  // The same scope where names inside it become others; std::nullopt: such a parameter is not the
  // model's, and whoever adds it gets zeros that nobody trains or stores.
  using Rename = std::function<std::optional<std::string>(const std::string& name)>;
  ParameterScope renamed(Rename rename) const {
    ParameterScope inner = *this;
    inner.rename_ = std::move(rename);
    return inner;
  }

  // Name and depth of the spec are those inside the scope.
  at::Tensor add(ParameterSpec spec) const {
    if (rename_) {
      std::optional<std::string> name = rename_(spec.name);
      if (!name) return at::zeros(spec.shape);
      spec.name = std::move(*name);
    }
    spec.name = prefix_ + spec.name;
    spec.depth += depth_;
    return store_->add(std::move(spec));
  }
  const std::string& prefix() const { return prefix_; }

 private:
  ParameterStore* store_;
  std::string prefix_;
  int depth_ = 0;
  Rename rename_;
};

}  // namespace roformer
