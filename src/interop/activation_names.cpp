#include "interop/activation_names.h"

#include <array>
#include <string>

#include "base/error.h"

namespace roformer {
namespace {

struct ActivationName {
  std::string_view theirs;
  ActivationKind ours;
};
// The first name of a kind is the one that is written.
constexpr std::array kActivations = {
    ActivationName{"gelu", ActivationKind::gelu},
    ActivationName{"gelu_python", ActivationKind::gelu},
    ActivationName{"gelu_new", ActivationKind::gelu_tanh},
    ActivationName{"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
    ActivationName{"gelu_fast", ActivationKind::gelu_tanh},  // with 0.79788456 for sqrt(2 / pi)
    ActivationName{"relu", ActivationKind::relu},
    ActivationName{"swish", ActivationKind::swish},
    ActivationName{"silu", ActivationKind::swish},
};

}  // namespace

ActivationKind parse_activation(const ConfigFields& fields, const char* field) {
  const std::string name = fields.text(field, "gelu");
  std::string known;
  for (const ActivationName& activation : kActivations) {
    if (activation.theirs == name) return activation.ours;
    known += (known.empty() ? "" : ", ") + std::string(activation.theirs);
  }
  fields.refuse(field, "one of " + known);
}

std::string_view activation_name(ActivationKind kind) {
  for (const ActivationName& name : kActivations) {
    if (name.ours == kind) return name.theirs;
  }
  ROFORMER_ASSERT(false && "an activation without a name of Hugging Face's");
  return "";
}

}  // namespace roformer
