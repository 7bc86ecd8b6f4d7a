// Different schemes in different layers, for instance RoPE with no positions in every fourth layer.
// The attention of a layer sees only that layer's scheme.

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/value.h"
#include "position/scheme.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

class Layers : public PositionScheme {
 public:
  struct Part {
    std::unique_ptr<PositionScheme> scheme;
    std::vector<std::int64_t> layers;
  };

  Layers(std::vector<Part> parts, std::int64_t layers)
      : parts_(std::move(parts)), of_layer_(static_cast<std::size_t>(layers)) {
    for (const Part& part : parts_) {
      for (const std::int64_t layer : part.layers) {
        of_layer_[static_cast<std::size_t>(layer)] = part.scheme.get();
      }
    }
  }

  const PositionScheme& of_layer(std::int64_t layer) const override {
    return *of_layer_.at(static_cast<std::size_t>(layer));
  }

  SchemeCapabilities capabilities() const override {
    return {.draws_positions = that_draws() != nullptr};
  }
  // At most one of the schemes adds to the embedding or draws positions.
  at::Tensor embedding(const Positions& positions) const override {
    for (const Part& part : parts_) {
      at::Tensor rows = part.scheme->embedding(positions);
      if (rows.defined()) return rows;
    }
    return {};
  }

  at::Tensor embedding_at(const at::Tensor& positions) const override {
    const PositionScheme* const drawing = that_draws();
    return drawing != nullptr ? drawing->embedding_at(positions) : at::Tensor();
  }
  at::Tensor draw_positions(const DrawInputs& inputs) const override {
    const PositionScheme* const drawing = that_draws();
    return drawing != nullptr ? drawing->draw_positions(inputs) : at::Tensor();
  }

 private:
  const PositionScheme* that_draws() const {
    for (const Part& part : parts_) {
      if (part.scheme->capabilities().draws_positions) return part.scheme.get();
    }
    return nullptr;
  }

  std::vector<Part> parts_;
  std::vector<const PositionScheme*> of_layer_;
};

// The check of the settings does not cover a stack that has fewer layers than the model.
std::vector<SchemePart> parts_of(const SchemeInputs& in) {
  try {
    return scheme_parts(in.settings, in.shape.layers);
  } catch (const InvalidValue& invalid) {
    throw_usage("position.layers.schemes", std::string("wanted ") + invalid.what(), invalid.hint);
  }
}

}  // namespace

std::unique_ptr<PositionScheme> make_layers(const SchemeInputs& in) {
  std::vector<SchemePart> all = parts_of(in);
  // If all layers have one scheme, returns that scheme itself.
  if (all.size() == 1) {
    return make_scheme(
        {.settings = all[0].position, .shape = in.shape, .parameters = in.parameters});
  }
  std::vector<Layers::Part> parts;
  const auto taken = std::make_shared<std::set<std::string>>();
  for (SchemePart& part : all) {
    // This model lacks the scheme's parameters for other layers. If two schemes use the same name
    // for a parameter of the model, the name of the later one includes its first layer.
    const std::string beginning =
        "position." + part.position.scheme + "-" + std::to_string(part.layers.front()) + ".";
    const ParameterScope scope = in.parameters.renamed(
        [taken, beginning, layers = std::set(part.layers.begin(), part.layers.end())](
            const std::string& name) -> std::optional<std::string> {
          constexpr std::string_view kLayers = "layers.", kModel = "position.";
          if (name.starts_with(kLayers)) {
            if (!layers.contains(std::stoll(name.substr(kLayers.size())))) return std::nullopt;
            return name;
          }
          if (taken->insert(name).second) return name;
          ROFORMER_ASSERT(name.starts_with(kModel));
          return beginning + name.substr(kModel.size());
        });
    parts.push_back(
        {.scheme = make_scheme({.settings = part.position, .shape = in.shape, .parameters = scope}),
         .layers = std::move(part.layers)});
  }
  return std::make_unique<Layers>(std::move(parts), in.shape.layers);
}

}  // namespace roformer
