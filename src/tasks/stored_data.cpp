#include "tasks/stored_data.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "tasks/data_record.h"

namespace roformer {
namespace fs = std::filesystem;

nlohmann::json recorded_data_of(const fs::path& checkpoint) {
  const fs::path run = (checkpoint / "..").lexically_normal().parent_path().parent_path();
  try {
    return read_checksummed_json(run / "run.json").value("data", nlohmann::json());
  } catch (const Error&) {
    return nullptr;  // no result depends on it
  } catch (const nlohmann::json::exception&) {
    return nullptr;
  }
}

namespace {

// Checks the folder that the run names, which may hold other data by now.
void warn_of_other_data(const fs::path& checkpoint, const fs::path& folder,
                        std::uint64_t fingerprint) {
  const nlohmann::json data = recorded_data_of(checkpoint);
  const nlohmann::json then =
      data.is_object() ? data.value("fingerprint", nlohmann::json()) : nlohmann::json();
  const std::string now = hexadecimal(fingerprint);
  if (!then.is_string() || then == now) return;
  log::warn("{} holds other data than the run was trained on: their fingerprint is {}, then {}",
            folder.string(), now, then.get<std::string>());
}

}  // namespace

void refuse_other_division(const OpenedCheckpoint& trained, const fs::path& folder) {
  const nlohmann::json then = recorded_data_of(trained.checkpoint);
  nlohmann::json now;
  try {
    Settings settings = trained.settings;
    settings.data.directory = folder;
    settings.data.sources.clear();
    settings.stages.clear();
    now = data_record(settings);
  } catch (const Error&) {
    return;  // reading the data will report the problem
  }
  if (!is_other_division(then, now)) return;
  throw_usage(folder.string(),
              "splits the text that the run was trained on differently: its validation or test set "
              "may contain text that the run was trained on",
              "use the data set of the training run, or text that the run has not seen");
}

Dataset open_stored_text(const fs::path& given, const OpenedCheckpoint& trained) {
  Dataset dataset =
      open_stored(given, trained.settings, [](const fs::path& folder) { return Dataset(folder); });
  if (dataset.tokenizer().fingerprint() != trained.tokenizer->fingerprint()) {
    throw_usage(dataset.folder().string(),
                "was prepared with another tokenizer than the model was trained with",
                fmt::format("roformer data prepare TEXT --tokenizer {} --output FOLDER",
                            trained.checkpoint.string()));
  }
  refuse_other_division(trained, dataset.folder());
  if (given.empty()) {
    warn_of_other_data(trained.checkpoint, dataset.folder(), dataset.description().fingerprint);
  }
  return dataset;
}

ParallelDataset open_stored_pairs(const fs::path& given, const OpenedCheckpoint& trained) {
  ParallelDataset dataset = open_stored(
      given, trained.settings, [](const fs::path& folder) { return ParallelDataset(folder); });
  const TranslationTokenizers& own = trained.tokenizers;
  if (dataset.tokenizer(Side::source).fingerprint() != own.source->fingerprint() ||
      dataset.tokenizer(Side::target).fingerprint() != own.target->fingerprint()) {
    const std::string folder = trained.checkpoint.string();
    throw_usage(
        dataset.folder().string(),
        "was prepared with another vocabulary than the translator was trained with",
        is_present(trained.checkpoint / "source")
            ? fmt::format(
                  "prepare it with the run's: --tokenizer {0}/source --target-tokenizer {0}/target",
                  folder)
            : "prepare it with the run's: --tokenizer " + folder);
  }
  refuse_other_division(trained, dataset.folder());
  if (given.empty()) {
    warn_of_other_data(trained.checkpoint, dataset.folder(), dataset.description().fingerprint);
  }
  return dataset;
}

}  // namespace roformer
