// A GLUE folder of invented sentences, a vocabulary for them and a small classifier's settings, in
// a temporary folder. The animal of the first sentence decides every pair's label, the colour
// every single sentence's.
#pragma once

#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "config/load.h"
#include "runs/train.h"
#include "temporary_folder.h"

namespace roformer {

struct TinyGlue {
  TemporaryFolder folder;
  Settings settings;

  std::filesystem::path data() const { return folder.path / "glue"; }
  std::filesystem::path run() const { return settings.runs / settings.run; }

  explicit TinyGlue(const std::string& task, const std::vector<Override>& overrides = {}) {
    write_vocabulary();
    write_data();
    settings = with({{"glue.task", task}}, overrides);
  }

  // Other settings on the same folder.
  Settings with(const std::vector<Override>& first,
                const std::vector<Override>& second = {}) const {
    std::vector<Override> all = {{"task", "glue"},
                                 {"run", "tiny"},
                                 {"runs", (folder.path / "runs").string()},
                                 {"threads", "1"},
                                 {"data.directory", data().string()},
                                 {"data.length", "16"},
                                 {"tokenizer.file", (folder.path / "vocab.txt").string()},
                                 {"model.layers", "2"},
                                 {"model.width", "32"},
                                 {"model.heads", "2"},
                                 {"model.feed_forward", "64"},
                                 {"model.token_types", "2"},
                                 {"model.dropout", "0"},
                                 {"model.initialization", "0.1"},
                                 {"glue.head_dropout", "0"},
                                 {"training.steps", "30e"},
                                 {"training.batch", "8"},
                                 {"training.learning_rate", "3e-3"},
                                 {"training.validate_every", "10e"},
                                 {"training.save_every", "10e"},
                                 {"training.precision", "fp32"}};
    all.insert(all.end(), first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    return default_settings(all);
  }

 private:
  static constexpr std::array<const char*, 4> kAnimals = {"cat", "dog", "owl", "fox"};
  static constexpr std::array<const char*, 4> kColours = {"red", "blue", "pink", "gold"};

  void write_vocabulary() const {
    std::ofstream file(folder.path / "vocab.txt");
    file << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nis\nsees\n.\n";
    for (const char* word : kAnimals) file << word << '\n';
    for (const char* word : kColours) file << word << '\n';
  }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((data() / name).parent_path());
    std::ofstream(data() / name, std::ios::binary) << text;
  }

  void write_data() const {
    std::string mrpc, stsb, sst2, mnli, cola, qqp, qnli, binary, sst2_test, pairs_test;
    int index = 0;
    for (std::size_t i = 0; i < kAnimals.size(); ++i) {
      for (std::size_t j = 0; j < kAnimals.size(); ++j, ++index) {
        const std::string first = std::string("the ") + kAnimals[i] + " is " + kColours[j] + " .";
        const std::string second = std::string("a ") + kAnimals[j] + " sees the " + kColours[j];
        const std::string number = std::to_string(index);
        const bool same = i < 2;
        mrpc += std::string(same ? "1" : "0") + "\t1\t2\t" + first + "\t" + second + "\n";
        stsb += number + "\t" + first + "\t" + second + "\t" +
                (same     ? "5.0"
                 : i == 2 ? "2.5"
                          : "0") +
                "\n";
        sst2 += first + "\t" + (j < 2 ? "1" : "0") + "\n";
        mnli += number + "\t" + first + "\t" + second + "\t" +
                (same     ? "entailment"
                 : i == 2 ? "neutral"
                          : "contradiction") +
                "\n";
        const std::string pair = number + "\t" + first + "\t" + second;
        const std::string entailed = same ? "entailment" : "not_entailment";
        cola += std::string("x\t") + (j < 2 ? "1" : "0") + "\t\t" + first + "\n";
        qqp += number + "\t1\t2\t" + first + "\t" + second + "\t" + (same ? "1" : "0") + "\n";
        qnli += pair + "\t" + entailed + "\n";
        binary += pair + "\t" + (same ? "1" : "0") + "\n";
        sst2_test += number + "\t" + first + "\n";
        pairs_test += pair + "\n";
      }
    }
    for (const std::string split : {"train", "dev"}) {
      write("MRPC/" + split + ".tsv", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n" + mrpc);
      write("STS-B/" + split + ".tsv", "index\tsentence1\tsentence2\tscore\n" + stsb);
      write("SST-2/" + split + ".tsv", "sentence\tlabel\n" + sst2);
      write("CoLA/" + split + ".tsv", cola);
      write("QQP/" + split + ".tsv", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n" + qqp);
      write("QNLI/" + split + ".tsv", "index\tquestion\tsentence\tlabel\n" + qnli);
      write("RTE/" + split + ".tsv", "index\tsentence1\tsentence2\tlabel\n" + qnli);
      write("WNLI/" + split + ".tsv", "index\tsentence1\tsentence2\tlabel\n" + binary);
    }
    for (const std::string name : {"train", "dev_matched", "dev_mismatched"}) {
      write("MNLI/" + name + ".tsv", "index\tsentence1\tsentence2\tgold_label\n" + mnli);
    }
    write("SST-2/test.tsv", "index\tsentence\n" + sst2_test);
    write("STS-B/test.tsv", "index\tsentence1\tsentence2\n" + pairs_test);
    for (const std::string name : {"test_matched", "test_mismatched"}) {
      write("MNLI/" + name + ".tsv", "index\tsentence1\tsentence2\n" + pairs_test);
    }
  }
};

}  // namespace roformer
