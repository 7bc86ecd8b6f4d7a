#include "runs/stored_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/sealed_json.h"

namespace roformer {
namespace fs = std::filesystem;

namespace {

// Of the set that the run names itself: what lies there now may be other data.
void warn_of_other_data(const fs::path& checkpoint, const fs::path& folder,
                        std::uint64_t fingerprint) {
  const fs::path run = (checkpoint / "..").lexically_normal().parent_path().parent_path();
  nlohmann::json then;
  try {
    then = read_sealed_json(run / "run.json").value("/data/fingerprint"_json_pointer, then);
  } catch (const Error&) {
    return;  // nothing that is computed depends on it
  }
  const std::string now = hexadecimal(fingerprint);
  if (!then.is_string() || then == now) return;
  log::warn("{} holds other data than the run was trained on: their fingerprint is {}, then {}",
            folder.string(), now, then.get<std::string>());
}

}  // namespace

Dataset open_stored_text(const fs::path& given, const TrainedModel& trained) {
  Dataset dataset =
      open_stored(given, trained.settings, [](const fs::path& folder) { return Dataset(folder); });
  if (dataset.tokenizer().fingerprint() != trained.tokenizer->fingerprint()) {
    throw_usage(dataset.folder().string(),
                "was prepared with another tokenizer than the model was trained with",
                fmt::format("roformer data prepare TEXT --tokenizer {} --output FOLDER",
                            trained.checkpoint.string()));
  }
  if (given.empty()) {
    warn_of_other_data(trained.checkpoint, dataset.folder(), dataset.description().fingerprint);
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
  if (given.empty()) {
    warn_of_other_data(trained.checkpoint, dataset.folder(), dataset.description().fingerprint);
  }
  return dataset;
}

}  // namespace roformer
