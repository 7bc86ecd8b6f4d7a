// What the tasks that read texts of different length (GLUE, matching) do alike.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/length_batches.h"
#include "data/text_pairs.h"
#include "tasks/opened_task.h"

namespace roformer {

// The run's own tokenizer where it goes on, else the one that the settings name, else that of the
// model to start from. Throws Error (usage) where there is none, or without [CLS] and [SEP].
std::shared_ptr<const Tokenizer> text_tokenizer(const TaskSources& sources);

// Batches of a fixed number of texts mix all lengths, as the benchmark's baselines do: an unpadded
// batch pays nothing for it. Batches of a number of tokens are filled with texts of like length.
BucketOptions text_bucket_options(const Settings& settings);

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts);

}  // namespace roformer
