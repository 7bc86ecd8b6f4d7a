// Flags that the commands for trained models share.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/command.h"
#include "model/sampling.h"
#include "runs/trained_model.h"

namespace roformer {

inline SettingsFlags trained_model_flags() {
  return {.accepts = may_change_when_trained,
          .help =
              "Keys of the configuration that leave the trained weights as they are:\n"
              "  --position.OPTION X           for instance --position.scaling yarn "
              "--position.factor 4\n"
              "  --position NAME               a scheme with the same parameters: rerope for a "
              "rope model\n"
              "  --attention.window TOKENS     --attention.log_n query\n"
              "  --decoding.OPTION X           of translators: beam, alpha, length_penalty ...; "
              "prompt_start\n"
              "  --classification.text COLUMN  --embedding.text [A,B]  --tagging.tokens COLUMN\n"
              "  --data.header false           of the file to read\n"
              "  --device auto|cpu|cuda        --threads N (0: all cores)\n"
              "  --training.precision fp32|bf16|auto   (fp32 here, whatever it was trained in)\n"
              "All of them: roformer config keys [PREFIX]\n"};
}

// --checkpoint and --weights: which weights of a run to open.
void add_opening_flags(CLI::App& command, TrainedModelOptions& opening);

// --int8: matrix products with eight-bit weights.
inline void add_int8_flag(CLI::App& command, bool& int8) {
  command.add_flag("--int8", int8,
                   "multiply by weights rounded to eight bits: faster on CPUs, and not quite the "
                   "same texts");
}

// The flags of sampling a text token by token, which language models and translators share.

// Adds --temperature, --top-k, --top-p and --seed. Returns the options, so that the caller can say
// what they need or exclude.
std::vector<CLI::Option*> add_sampling_flags(CLI::App& command, SamplingSettings& sampling,
                                             std::uint64_t& seed);
// Throws Error (usage) for meaningless values.
void check_sampling(const SamplingSettings& sampling);

}  // namespace roformer
