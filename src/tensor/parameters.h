// The trained parameters of a model. Their names seed their initial values, so that adding a
// parameter changes no other. They lie in flat buffers, so that the optimiser, the gradient norm
// and a checkpoint each are one pass over memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tensor/scoped.h"

namespace roformer {

class Safetensors;

// Fills the values of one parameter; the stream depends on (seed, name) only.
using Initializer = std::function<void(std::span<float>, Random&)>;
Initializer zeros();
Initializer ones();
Initializer constant(double value);
Initializer truncated_normal(double standard_deviation);  // cut at two standard deviations
Initializer normal(double standard_deviation);
Initializer uniform(double low, double high);

// Where the values lie that a store reads from a checkpoint.
enum class ValueMemory {
  own,      // copied into the store's flat buffers
  of_file,  // left in the mapped file: they can be neither trained nor written
};

// As long as it lives, parameters that this thread adds to a store are NaN instead of drawn, which
// would take seconds for a base model: all of them will be read from a checkpoint.
class WithoutInitialValues {
 public:
  explicit WithoutInitialValues(ValueMemory memory = ValueMemory::own);

 private:
  Scoped<std::optional<ValueMemory>> scope_;
};

struct ParameterSpec;

// As long as it lives, parameters that this thread adds to a store are reported and take no memory:
// each is one number expanded to its shape, and flatten() does nothing. It lists the parameters of
// a model of any size; nothing can be computed with them.
class ParametersOnly {
 public:
  using Told = std::function<void(const ParameterSpec& spec)>;
  explicit ParametersOnly(Told told);  // add() passes on its exceptions

 private:
  Told told_;
  Scoped<const Told*> scope_;
};

struct ParameterSpec {
  std::string name;  // "encoder.layers.0.attention.query.weight"
  std::vector<std::int64_t> shape;
  Initializer initial;
  bool decay = true;                                 // weight decay: not for biases and norms
  int depth = 0;                                     // 0 embeddings, 1..N the layers, N+1 the head
  std::function<void(at::Tensor&)> constraint = {};  // applied in place before each forward
  bool fixed = false;     // never trained: random numbers that belong to the model
  bool projects = false;  // project() multiplies by the whole of it
  // The rows of each matrix that is packed in a parameter inside a layer, such as queries, keys and
  // values. Muon trains these matrices. Empty for all other parameters.
  std::vector<std::int64_t> matrices = {};
};

struct Parameter {
  ParameterSpec spec;
  at::Tensor value;     // leaf of the autograd graph, shape of the spec
  bool trained = true;  // false: frozen, in no flat buffer's trained part
};

// A contiguous piece of the flat buffers whose parameters share decay and depth.
struct ParameterRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool decay = true;
  int depth = 0;
};

class ParameterStore {
 public:
  explicit ParameterStore(std::uint64_t seed, at::ScalarType type = at::kFloat,
                          at::Device device = at::kCPU)
      : seed_(seed), type_(type), device_(device) {}

  // An empty store whose add() returns the lender's parameter of that name: for a second model with
  // the same weights, which only reads them. The lender must outlive it.
  static ParameterStore borrowing(const ParameterStore& lender);

  // Makes and initialises a parameter. The returned tensor stays valid after flatten(), which moves
  // its storage. Names are unique.
  at::Tensor add(ParameterSpec spec);
  // Takes a parameter out of training; before flatten().
  void freeze(const std::function<bool(const ParameterSpec&)>& which);
  // Moves the trained parameters into one flat buffer, ordered by (decay, depth), and gives each
  // its view of the flat gradient. If the values will lie in a file, nothing is trained and there
  // are no buffers.
  void flatten();
  // Whether the values are, or will be, those of a file.
  bool in_file() const { return in_file_; }
  // Points every parameter into the file, which has all of them with their shapes and types.
  // Parameters with a constraint are copied, as it writes into them.
  void take(Safetensors file);
  // If this value of a parameter lies in a file, gives its memory back; whoever reads it again
  // reads the file.
  void release(const at::Tensor& value) const;

  std::span<const Parameter> all() const { return parameters_; }
  const Parameter* find(const std::string& name) const;
  // Where a trained parameter begins in the flat buffers; after flatten().
  std::int64_t offset_of(const Parameter& parameter) const;
  std::int64_t count() const;  // numbers in all parameters

  // [trained numbers]; after flatten().
  const at::Tensor& flat_values() const { return flat_values_; }
  const at::Tensor& flat_gradients() const { return flat_gradients_; }
  std::span<const ParameterRange> ranges() const { return ranges_; }
  std::uint64_t seed() const { return seed_; }

  void zero_gradients();
  void apply_constraints();

 private:
  std::uint64_t seed_;
  at::ScalarType type_;
  at::Device device_;
  const ParameterStore* lender_ = nullptr;
  bool in_file_ = false;
  std::shared_ptr<const Safetensors> file_;
  std::vector<Parameter> parameters_;
  at::Tensor flat_values_;
  at::Tensor flat_gradients_;
  std::vector<ParameterRange> ranges_;
};

// Where a part of a model adds its parameters: a prefix of their names and the depth at which the
// part begins. Two parts of one kind can thus share a store.
class ParameterScope {
 public:
  // A whole store is the outermost scope.
  ParameterScope(ParameterStore& store) : store_(&store) {}  // NOLINT: meant to convert
  // "decoder." and "layers.3." make "decoder.layers.3.".
  ParameterScope within(const std::string& prefix, int depth = 0) const {
    ParameterScope inner = *this;
    inner.prefix_ += prefix;
    inner.depth_ += depth;
    return inner;
  }

  // The same scope with other names. If a name becomes std::nullopt, the parameter does not belong
  // to the model; add() returns zeros that are neither trained nor stored.
  using Rename = std::function<std::optional<std::string>(const std::string& name)>;
  ParameterScope renamed(Rename rename) const {
    ParameterScope inner = *this;
    inner.rename_ = std::move(rename);
    return inner;
  }

  // The spec's name and depth are relative to the scope.
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
