// `roformer import`: makes a run from a Hugging Face folder.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "runs/import_run.h"

namespace roformer {
namespace {

struct ImportOptions {
  std::string folder;
  bool overwrite = false;
  std::vector<Override> overrides;
};

// The settings of a run that the folder does not give.
constexpr std::array kKeys = {"run", "runs", "seed", "data.directory", "data.length", "glue.task"};

SettingsFlags import_flags() {
  return {.accepts =
              [](const std::string& key) { return std::ranges::find(kKeys, key) != kKeys.end(); },
          .help =
              "Keys of the configuration that the folder does not hold:\n"
              "  --run NAME                    name of the run, a folder under runs/ (--runs)\n"
              "  --glue.task NAME              what a classifier was trained on\n"
              "  --data.directory FOLDER       --data.length TOKENS\n"
              "  --seed N                      of a head that the folder lacks\n"};
}

void import_command(const ImportOptions& options) {
  const bool named = std::ranges::any_of(options.overrides, [](const Override& override) {
    return override.key == "run" && !override.text.empty();
  });
  if (!named) throw_usage("--run", "is not given", "the name of the run to make: --run NAME");
  const ImportedRun run = [&] {
    const ElapsedLine elapsed("importing");
    return import_run(options.folder, options.overrides,
                      options.overwrite ? ExistingRun::overwrite : ExistingRun::refuse);
  }();
  for (const std::string& note : run.notes) log::warn("{}: {}", options.folder, note);
  fmt::print("{}: {}, {} parameters\n", run.path.string(), run.model, format_count(run.parameters));
}

}  // namespace

void add_import_command(CLI::App& program) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = add_listed_command(
      program, "import",
      "roformer import bert-base-uncased --run bert\n"
      "Reads BERT, RoBERTa, XLM-R, CamemBERT, DistilBERT, ELECTRA, RoFormer, ModernBERT,\n"
      "NEZHA, DeBERTa-v2 and T5's encoder: config.json, model.safetensors or\n"
      "pytorch_model.bin (or shards), vocab.txt or tokenizer.json; translators for `roformer\n"
      "translate`: MarianMT (Opus-MT) with source.spm, target.spm and vocab.json, T5 with\n"
      "spiece.model; folders of sentence-transformers for `roformer embed`; and Llama,\n"
      "Mistral, Qwen 2, Qwen 3, GPT-NeoX, GPT-2, BLOOM and MPT for `roformer generate`,\n"
      "whose texts are ids where there is no tokenizer that can be read.\n");
  command->add_option("folder", options->folder, "folder with config.json")->required();
  command->add_flag("--overwrite", options->overwrite, "remove what an earlier run wrote");
  accept_settings(*command, options->overrides, import_flags());
  command->callback([options] { import_command(*options); });
}

}  // namespace roformer
