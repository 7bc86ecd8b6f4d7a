#include "runs/export_run.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "config/task_facts.h"
#include "interop/export.h"
#include "runs/run_settings.h"
#include "runs/stored_weights.h"
#include "tasks/classification/targets.h"
#include "tasks/translation/translation_search.h"
#include "tensor/safetensors.h"
#include "text/translation_tokenizers.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

ExportSummary export_translator(const Settings& settings,
                                const std::map<std::string, at::Tensor>& tensors,
                                const fs::path& checkpoint, const fs::path& folder,
                                bool overwrite) {
  const TranslationTokenizers tokenizers = load_translation_tokenizers(checkpoint);
  TranslationTokens tokens = translation_tokens(*tokenizers.target);
  if (!settings.decoding.unknown && tokens.unknown >= 0) tokens.excluded.push_back(tokens.unknown);
  return write_hugging_face_folder({.settings = settings,
                                    .tensors = tensors,
                                    .tokenizer = *tokenizers.target,
                                    .source_tokenizer = tokenizers.source.get(),
                                    .never = tokens.excluded,
                                    .begin = tokens.target.begin,
                                    .end = tokens.target.end},
                                   folder, overwrite);
}

ExportSummary export_text_model(const Settings& settings,
                                const std::map<std::string, at::Tensor>& tensors,
                                const fs::path& checkpoint, const fs::path& folder,
                                bool overwrite) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(checkpoint);
  ExportedModel model{.settings = settings, .tensors = tensors, .tokenizer = *tokenizer};
  if (task_facts(settings.task).exported == ExportForm::classifier) {
    const Targets targets = targets_of(settings);
    model.labels = targets.names;
    model.target_kind = targets.kind;
  }
  if (task_facts(settings.task).exported == ExportForm::tagger) {
    model.labels = settings.tagging.classes;
  }
  return write_hugging_face_folder(model, folder, overwrite);
}

}  // namespace

ExportedRun export_run(const fs::path& run_or_checkpoint, const std::string& which,
                       const fs::path& folder, std::optional<WeightsKind> weights, bool overwrite) {
  OutputFolder::require_free(exported_folder(folder, overwrite));
  return use_checkpoint(run_or_checkpoint, which, [&](const fs::path& checkpoint) {
    ExportedRun result{.checkpoint = checkpoint};
    const Settings settings = read_run_settings(result.checkpoint);
    const Safetensors file(
        weights_file(result.checkpoint, weights.value_or(settings.training.weights)));
    require_parameters(settings, stored_vocabularies(settings, checkpoint), file);
    std::map<std::string, at::Tensor> tensors;
    for (const std::string& name : file.names()) {
      const at::Tensor value = file.tensor(name);
      require_finite(file.path(), name, value, "export an earlier checkpoint: --checkpoint STEP");
      tensors[name] = value;
    }
    ExportSummary summary =
        task_facts(settings.task).exported == ExportForm::translator
            ? export_translator(settings, tensors, checkpoint, folder, overwrite)
            : export_text_model(settings, tensors, checkpoint, folder, overwrite);
    result.architecture = std::move(summary.architecture);
    result.notes = std::move(summary.notes);
    return result;
  });
}

}  // namespace roformer
