#include "cli/command_list.h"

#include "base/error.h"

namespace roformer {
namespace {

constexpr const char* kGroupTraining = "Train and evaluate";
constexpr const char* kGroupData = "Prepare text";
constexpr const char* kGroupCompare = "Compare";
constexpr const char* kGroupInspect = "Look into";

}  // namespace

const std::vector<ListedCommand>& listed_commands() {
  static const std::vector<ListedCommand> list = {
      {.name = "train", .summary = "Train one configuration", .group = kGroupTraining},
      {.name = "evaluate",
       .summary = "Loss and metrics of a trained model, or of a fine-tuned one",
       .group = kGroupTraining},
      {.name = "predict",
       .summary = "Labels of a fine-tuned classifier for new texts",
       .group = kGroupTraining},
      {.name = "fill-mask",
       .summary = "What a masked language model puts in the place of [MASK]",
       .group = kGroupTraining},
      {.name = "generate",
       .summary = "Continue a text with a causal language model",
       .group = kGroupTraining},
      {.name = "translate",
       .summary = "Translate lines with a trained run",
       .group = kGroupTraining},
      {.name = "score",
       .summary = "BLEU, chrF and TER of translations, equal to sacreBLEU's",
       .group = kGroupTraining},
      {.name = "average", .summary = "Average the weights of checkpoints", .group = kGroupTraining},
      {.name = "import", .summary = "Make a run of a Hugging Face folder", .group = kGroupTraining},
      {.name = "export",
       .summary = "Write a run as a Hugging Face folder",
       .group = kGroupTraining},
      {.name = "study",
       .summary = "Run a matrix of configurations and compare them in one table",
       .group = kGroupCompare},
      {.name = "data",
       .summary = "Prepare text for training, look into prepared data",
       .group = kGroupData},
      {.name = "tokenizer",
       .summary = "Train tokenizers; turn text into ids and back",
       .group = kGroupData},
      {.name = "positions",
       .summary = "Explain, draw and verify the positional schemes",
       .group = kGroupInspect},
      {.name = "explain",
       .summary = "What the attention of trained models uses: contents, positions, distances",
       .group = kGroupInspect},
      {.name = "config",
       .summary = "Show, check and compare configurations; list their keys",
       .group = kGroupInspect},
      {.name = "bench", .summary = "Measure the speed of this machine", .group = kGroupInspect},
      {.name = "doctor",
       .summary = "What this machine and this build can do",
       .group = kGroupInspect},
  };
  return list;
}

CLI::App* add_listed_command(CLI::App& program, std::string_view name, std::string details) {
  for (const ListedCommand& listed : listed_commands()) {
    if (listed.name != name) continue;
    return add_command(program, {.name = listed.name,
                                 .summary = listed.summary,
                                 .details = std::move(details),
                                 .group = listed.group});
  }
  ROFORMER_ASSERT(false && "a command that the list does not name");
  return nullptr;
}

}  // namespace roformer
