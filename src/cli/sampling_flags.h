// The flags of drawing a text token by token: the same for a language model and for a translator.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/command.h"
#include "model/sampling.h"

namespace roformer {

// --temperature, --top-k, --top-p and --seed; the options, for what they need or exclude.
std::vector<CLI::Option*> add_sampling_flags(CLI::App& command, SamplingSettings& sampling,
                                             std::uint64_t& seed);
// Throws Error (usage) for values that mean nothing.
void check_sampling(const SamplingSettings& sampling);

}  // namespace roformer
