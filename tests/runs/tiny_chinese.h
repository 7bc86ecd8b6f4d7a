// A small Chinese corpus with its dictionary and vocabulary, prepared, and triplets of its cases,
// in a temporary folder.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/load.h"
#include "data/prepare.h"
#include "data/triplet_maker.h"
#include "runs/train.h"
#include "temporary_folder.h"
#include "tensor/device.h"

namespace roformer {

// Cases of two causes, told by their words, which the dictionary has.
struct TinyChinese {
  TemporaryFolder folder;
  std::vector<Override> small;

  TinyChinese() {
    std::ofstream(folder.path / "dict.txt")
        << "原告 10\n被告 10\n借款 9\n合同 9\n离婚 8\n子女 8\n抚养 8\n法院 7\n判决 7\n归还 6\n";
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (const char* piece : {"原告", "被告", "借款", "离婚", "子", "女", "抚", "养", "合", "同",
                              "法院", "判", "决", "归", "还", "。", "，"}) {
      vocabulary += std::string(piece) + "\n";
    }
    for (int digit = 0; digit < 10; ++digit) {
      vocabulary += std::to_string(digit) + "\n##" + std::to_string(digit) + "\n";
    }
    std::ofstream(folder.path / "vocab.txt") << vocabulary;
    std::ofstream text(folder.path / "text.txt"), cases(folder.path / "cases.jsonl");
    for (int i = 0; i < 60; ++i) {
      const bool loan = i % 2 == 0;
      std::string line = loan ? "原告借款，被告归还借款合同。" : "原告离婚，被告抚养子女离婚。";
      for (int n = 0; n < i % 5; ++n) line += loan ? "借款归还。" : "子女抚养。";
      line += "法院判决" + std::to_string(i) + "。";
      text << line << line << "\n\n";
      cases << nlohmann::json({{"text", line}, {"casename", loan ? "借款" : "离婚"}}).dump()
            << "\n";
    }
    text.close();
    cases.close();
    CorpusOptions corpus;
    corpus.inputs = {folder.path / "text.txt"};
    prepare({.corpus = corpus, .output = folder.path / "data"},
            *open_tokenizer(
                {.file = folder.path / "vocab.txt", .dictionary = folder.path / "dict.txt"}));
    make_triplets({.inputs = {folder.path / "cases.jsonl"},
                   .output = folder.path / "triplets",
                   .topic_field = "casename",
                   .per_text = 3});
    small = {{"runs", (folder.path / "runs").string()},
             {"threads", "1"},
             {"model.layers", "2"},
             {"model.width", "32"},
             {"model.heads", "2"},
             {"model.feed_forward", "64"},
             {"model.dropout", "0"},
             {"training.precision", "fp32"},
             {"data.validation_tokens", "640"}};
  }

  Settings with(const std::vector<Override>& more) const {
    std::vector<Override> all = small;
    all.insert(all.end(), more.begin(), more.end());
    return default_settings(all);
  }
  Settings pretraining(const std::string& run) const {
    return with({{"run", run},
                 {"data.directory", (folder.path / "data").string()},
                 {"data.length", "48"},
                 {"data.masking.whole_words", "true"},
                 {"training.batch", "4"},
                 {"training.learning_rate", "1e-3"},
                 {"training.log_every", "1"},
                 {"training.validate_every", "0"},
                 {"training.save_every", "2"},
                 {"stages",
                  "[{steps: 4, length: 16, batch: 8}, {steps: 3, length: 32}, "
                  "{steps: 2, batch: 2, accumulation: 2}]"}});
  }
  Settings matching(const std::string& run, const std::vector<Override>& more = {}) const {
    std::vector<Override> all = {{"task", "matching"},
                                 {"run", run},
                                 {"data.directory", (folder.path / "triplets").string()},
                                 {"data.length", "64"},
                                 {"tokenizer.file", (folder.path / "vocab.txt").string()},
                                 {"tokenizer.dictionary", (folder.path / "dict.txt").string()},
                                 {"model.initialization", "0.1"},
                                 {"matching.head_dropout", "0"},
                                 {"training.steps", "20e"},
                                 {"training.batch", "8"},
                                 {"training.learning_rate", "3e-3"},
                                 {"training.validate_every", "5e"},
                                 {"training.save_every", "5e"}};
    all.insert(all.end(), more.begin(), more.end());
    for (const Override& key : small) {
      if (key.key != "data.validation_tokens") all.insert(all.begin(), key);
    }
    return default_settings(all);
  }
  std::filesystem::path run(const std::string& name) const { return folder.path / "runs" / name; }
};

}  // namespace roformer
