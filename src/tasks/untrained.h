// Warns in one line when a user runs a trained model in a way that its training did not cover. This
// is allowed: the program measures how far a scheme generalises.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/settings.h"
#include "tasks/task_model.h"

namespace roformer {

// The length of a training's longest row: data.length, or the length of a longer stage.
std::int64_t longest_row(const Settings& settings);

// Warns if a layer has another scheme than the one its weights were trained with, unless the scheme
// is made for those weights (rerope on rope).
void warn_of_other_scheme(const Settings& trained, const Settings& used);

// Warns if rows are longer than any row of the training and the scheme has parameters for each
// position or distance beyond it: a table of 512 rows, 64 of them trained. `length` counts from
// position 0.
void warn_of_untrained_rows(const OpenedCheckpoint& opened, std::int64_t length);

// Warns if a classifier reads longer texts than the model that it was fine-tuned from (see
// run.json) saw in training.
void warn_of_short_start(const OpenedCheckpoint& opened);
// Gives the same warning before the training begins. `from_length` is the longest row of the model
// that it starts from.
void warn_of_short_start(const Settings& settings, std::int64_t from_length);

// Throws Error (usage) if the model's scheme has too few positions for a text of `length` tokens
// that begins at `shift`. `what` names the flag.
void require_positions(const Settings& settings, const std::string& what, std::int64_t length,
                       std::int64_t shift = 0);

// The flags that change the model, for the header of its answers: ", with --position alibi". Empty
// if there are none.
std::string with_overrides(const OpenedCheckpoint& opened);
// The same flags for programs: {"position": "alibi"}.
nlohmann::ordered_json overrides_json(const OpenedCheckpoint& opened);

}  // namespace roformer
