// A prepared text of bytes and a small model trained on it for a few steps, in a temporary folder.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "config/load.h"
#include "data/prepare.h"
#include "runs/train.h"
#include "temporary_folder.h"
#include "tensor/device.h"

namespace roformer {

struct TinyRun {
  TemporaryFolder folder;
  Settings settings;

  std::filesystem::path data() const { return folder.path / "data"; }
  std::filesystem::path run() const { return settings.runs / settings.run; }

  explicit TinyRun(const std::string& position, const std::vector<Override>& overrides = {}) {
    std::ofstream text(folder.path / "text.txt");
    for (int i = 0; i < 400; ++i) {
      text << "Click the " << (i % 3 == 0 ? "red" : "green") << " button number " << i * i << ".\n";
      if (i % 5 == 4) text << "\n";
    }
    text.close();
    const auto tokenizer = open_tokenizer({.kind = TokenizerKind::bytes});
    CorpusOptions corpus;
    corpus.inputs = {folder.path / "text.txt"};
    prepare({.corpus = corpus, .output = data()}, *tokenizer);
    std::vector<Override> all = {{"run", "tiny"},
                                 {"runs", (folder.path / "runs").string()},
                                 {"threads", "1"},
                                 {"data.directory", data().string()},
                                 {"data.length", "32"},
                                 {"data.validation_tokens", "640"},
                                 {"model.layers", "2"},
                                 {"model.width", "32"},
                                 {"model.heads", "2"},
                                 {"model.feed_forward", "64"},
                                 {"training.steps", "3"},
                                 {"training.batch", "4"},
                                 {"training.precision", "fp32"},
                                 {"position", position}};
    all.insert(all.end(), overrides.begin(), overrides.end());
    settings = default_settings(all);
  }
};

}  // namespace roformer
