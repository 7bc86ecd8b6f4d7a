#include "cli/stored_data.h"

#include <fmt/format.h>

namespace roformer {
namespace fs = std::filesystem;

Dataset open_stored_text(const fs::path& given, const TrainedModel& trained) {
  Dataset dataset =
      open_stored(given, trained.settings, [](const fs::path& folder) { return Dataset(folder); });
  if (dataset.tokenizer().fingerprint() != trained.tokenizer->fingerprint()) {
    throw_usage(dataset.folder().string(),
                "was prepared with another tokenizer than the model was trained with",
                fmt::format("roformer data prepare TEXT --tokenizer {} --output FOLDER",
                            trained.checkpoint.string()));
  }
  return dataset;
}

ParallelDataset open_stored_pairs(const fs::path& given, const TrainedTranslator& trained) {
  ParallelDataset dataset = open_stored(
      given, trained.settings, [](const fs::path& folder) { return ParallelDataset(folder); });
  const TranslationTokenizers& own = trained.tokenizers;
  if (dataset.tokenizer(Side::source).fingerprint() != own.source->fingerprint() ||
      dataset.tokenizer(Side::target).fingerprint() != own.target->fingerprint()) {
    const std::string folder = trained.checkpoint.string();
    std::error_code error;
    throw_usage(
        dataset.folder().string(),
        "was prepared with another vocabulary than the translator was trained with",
        fs::exists(trained.checkpoint / "source", error)
            ? fmt::format(
                  "prepare it with the run's: --tokenizer {0}/source --target-tokenizer {0}/target",
                  folder)
            : "prepare it with the run's: --tokenizer " + folder);
  }
  return dataset;
}

}  // namespace roformer
