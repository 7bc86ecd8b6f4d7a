// Warns in one line when a trained model is used in a way that no training has taught its weights.
// It is allowed: how far a scheme generalises is what this program measures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/settings.h"
#include "tasks/task_model.h"

namespace roformer {

// The longest row of a training: data.length, or that of a longer stage.
std::int64_t longest_row(const Settings& settings);

// Warns if some layer has another scheme than its weights were trained with, unless that scheme was
// made to be tried on them (rerope on rope).
void warn_of_other_scheme(const Settings& trained, const Settings& used);

// Warns if rows are longer than any of the training and the scheme has parameters for each position
// or distance there: a table of 512 rows of which 64 were trained. `length` counts from position 0.
void warn_of_untrained_rows(const OpenedCheckpoint& opened, std::int64_t length);

// Warns if a classifier reads longer texts than the model that it was fine-tuned from (run.json)
// was trained on.
void warn_of_short_start(const OpenedCheckpoint& opened);
// The same before the training begins. `from_length`: the longest row of the model that it
// starts from.
void warn_of_short_start(const Settings& settings, std::int64_t from_length);

// Throws Error (usage) where the model's scheme has too few positions for a text of `length` tokens
// that begins at `shift`. `what` names the flag.
void require_positions(const Settings& settings, const std::string& what, std::int64_t length,
                       std::int64_t shift = 0);

// The flags that change the model, for the header of its answers: ", with --position alibi"; "" if
// there are none.
std::string with_overrides(const OpenedCheckpoint& opened);
// The same for programs: {"position": "alibi"}.
nlohmann::ordered_json overrides_json(const OpenedCheckpoint& opened);

}  // namespace roformer
