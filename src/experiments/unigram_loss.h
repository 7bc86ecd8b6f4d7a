// The loss of a model that knows how frequent each token is and nothing else: the cross-entropy of
// the training text's frequencies on the held-out text. A language model that stands there has
// learned nothing yet from the words around a position.
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "data/dataset.h"

namespace roformer {

// In nats a token, counts smoothed by one. `with_special` counts the marks of the vocabulary too:
// they are predicted by a causal model, never by a masked one.
double unigram_loss(const Dataset& dataset, bool with_special);

// In the unit of the metric (validation_loss, bits_per_character or bits_per_byte), of the data
// that a run with these settings is trained on; nothing where they cannot be read.
std::optional<double> unigram_loss(const Settings& settings, const std::string& metric);

}  // namespace roformer
