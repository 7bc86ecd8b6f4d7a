#include "training/run_files.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/inner_path.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array kContents = {"run.json",    "log.txt",      "metrics.jsonl", "tensorboard",
                                  "checkpoints", "summary.json", "report.html",   "config.yaml"};

}  // namespace

bool is_run_file(fs::path name) {
  if (name.extension() == ".partial") name = name.stem();  // of a killed process
  return name == ".lock" || PreviousRun::is_aside(name) ||
         std::ranges::find(kContents, name) != kContents.end();
}

void require_plain_run(const fs::path& run) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run, error)) {
    const fs::path name = entry.path().filename();
    if (is_run_file(name) || is_tokenizer_entry(run, name)) {
      (InnerPath::named(run) / name).require_plain_tree();
    }
  }
}

PreviousRun::IsOurs replaced_in(const fs::path& run) {
  return [run](const fs::path& name) {
    if (name == ".lock" || PreviousRun::is_aside(name)) return false;
    return is_run_file(name) || is_tokenizer_entry(run, name);
  };
}

}  // namespace roformer
