// Keys that no token to come will see: behind the window of every layer, or between the first
// tokens and the last ones of a scheme that looks at those alone. A cache that drops them holds as
// much after a million tokens as after a thousand.
#pragma once

#include <cstdint>
#include <span>

#include "attention/attention_cache.h"
#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

// Drops from a cache of softmax attention what a token at position `next` does not see in any of
// the layers. What is hidden from one token stays hidden from all behind it: so it is with every
// window, and with the masks of all schemes. A look costs a row of masks; it is taken when the
// cache has doubled, so that memory is at most twice what is seen (and 64 tokens at least).
void forget_hidden_keys(AttentionCache& cache, const PositionScheme& scheme,
                        std::span<const AttentionSettings> layers, std::int64_t next);

}  // namespace roformer
