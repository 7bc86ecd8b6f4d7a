// Section `attention` layer by layer: what attention.layers says for some of them.
#pragma once

#include <cstdint>
#include <vector>

#include "config/attention_settings.h"

namespace roformer {

// The settings of every layer. Throws InvalidValue where attention.layers does not fit the number
// of layers or says what no layer can have of its own.
std::vector<AttentionSettings> attention_of_layers(const AttentionSettings& attention,
                                                   std::int64_t layers);
// Whether any layer has linear attention.
bool uses_linear_attention(const AttentionSettings& attention);

}  // namespace roformer
