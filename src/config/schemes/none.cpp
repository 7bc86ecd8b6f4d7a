#include "config/schemes/definition.h"

namespace roformer {

SchemeDefinition define_none() {
  return {.facts = {.name = "none",
                    .family = "none",
                    .linear_attention = true,
                    .formula = "nothing; a causal mask alone tells places apart",
                    .cost = "nothing",
                    .longer = "runs, degrades",
                    .paper = "Kazemnejad 2023 (NoPE)"}};
}

}  // namespace roformer
