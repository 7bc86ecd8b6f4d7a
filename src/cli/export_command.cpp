// `roformer export`: writes a run as a folder for Hugging Face's transformers.
#include <fmt/format.h>

#include <memory>

#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/trained_model_flags.h"
#include "runs/export_run.h"

namespace roformer {
namespace {

struct ExportOptions {
  std::string run;
  std::string folder;
  bool overwrite = false;
  TrainedModelOptions opening;
};

void export_command(const ExportOptions& options) {
  const ExportedRun result = [&] {
    const ElapsedLine elapsed("exporting");
    return export_run(options.run, options.opening.checkpoint, options.folder,
                      options.opening.weights, options.overwrite);
  }();
  for (const std::string& note : result.notes) log::warn("{}: {}", options.run, note);
  fmt::print("{}: {}, from {}\n", options.folder, result.architecture, result.checkpoint.string());
}

}  // namespace

void add_export_command(CLI::App& program) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = add_listed_command(
      program, "export",
      "roformer export runs/wikipedia/rope my-roformer\n"
      "Models with rope become RoFormer (pre-norm ones with a norm of the embedding\n"
      "ModernBERT), with learned positions BERT (or RoBERTa, XLM-R, CamemBERT, DistilBERT,\n"
      "ELECTRA, as model.family says), with nezha NEZHA, with deberta DeBERTa-v2,\n"
      "translators with sinusoidal positions MarianMT, with t5 T5, causal models of their\n"
      "blocks Llama, Mistral, Qwen 2, Qwen 3 or GPT-NeoX (rope), GPT-2 (learned), BLOOM or\n"
      "MPT (alibi); what these cannot express is refused in words. A run with task embedding\n"
      "becomes a folder of sentence-transformers.\n");
  command->add_option("run", options->run, "folder of a run or of a checkpoint")->required();
  command->add_option("folder", options->folder, "new folder")->required();
  add_opening_flags(*command, options->opening);
  command->add_flag("--overwrite", options->overwrite,
                    "replace an earlier export, unless you have added or changed a file in it");
  command->callback([options] { export_command(*options); });
}

}  // namespace roformer
