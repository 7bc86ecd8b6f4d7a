#include "model/sub_layer.h"

#include "tensor/graph_recording.h"

namespace roformer {

DropoutSpec SubLayer::dropout_at(const StackPass& pass, Site site, double probability) const {
  return {.probability = pass.training ? probability : 0,
          .key = dropout_key({pass.dropout_key, static_cast<std::uint64_t>(role_.layer) + 1,
                              static_cast<std::uint64_t>(site)})};
}

std::string SubLayer::title() const {
  const char* const kind = role_.residual == kAttention        ? "attention"
                           : role_.residual == kCrossAttention ? "cross_attention"
                                                               : "feed_forward";
  return role_.prefix + kind;
}

DropoutSpec SubLayer::residual_dropout(const StackPass& pass) const {
  return dropout_at(pass, role_.residual, role_.dropout);
}

}  // namespace roformer
