// Opens the encoder of a run or of a Hugging Face folder as an embedder of texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "config/settings.h"
#include "runs/trained_model.h"
#include "tasks/embedding/embedder.h"
#include "text/tokenizer.h"

namespace roformer {

struct EmbedderOptions {
  TrainedModelOptions opening;  // checkpoint and weights are for runs only
  // Instead of what the run or folder says.
  std::optional<TextPooling> pooling = {};
  std::optional<bool> normalize = {};
  std::optional<std::int64_t> length = {};
};

struct OpenedEmbedder {
  // The settings of the run or folder, with the user's options. settings.embedding and data.length
  // say how a text becomes a vector. Only an embedder, a classifier or a matcher says its pooling;
  // other models take the mean of all tokens. Vectors have length 1 unless an embedder says no.
  Settings settings;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<Embedder> model;
};

// Throws Error: usage for a model that is no encoder of texts, for a length that its positions do
// not reach, and as open_run and open_model_source do.
OpenedEmbedder open_embedder(const std::filesystem::path& run_or_folder,
                             const EmbedderOptions& options);

}  // namespace roformer
