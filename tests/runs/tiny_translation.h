// A parallel corpus made on the spot, whose target is its source read backwards, and settings of a
// translator that learns it in seconds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "config/load.h"
#include "data/prepare_pairs.h"
#include "temporary_folder.h"
#include "text/plain_tokenizers.h"

namespace roformer {

class TinyTranslation {
 public:
  TemporaryFolder folder;

  explicit TinyTranslation(std::int64_t pairs = 400)
      : TinyTranslation(pairs, *make_byte_tokenizer()) {}
  TinyTranslation(std::int64_t pairs, const Tokenizer& words)
      : TinyTranslation(pairs, words, words) {}
  TinyTranslation(std::int64_t pairs, const Tokenizer& source_words,
                  const Tokenizer& target_words) {
    write("train", 0, pairs);
    write("validation", 1, 20);
    PreparePairsOptions options;
    options.corpus.languages = {.source = "en", .target = "de"};
    options.corpus.train = {source("train")};
    options.corpus.validation = HeldOutPairs{.pairs = source("validation")};
    options.output = data();
    prepare_pairs(options, source_words, target_words);
  }

  std::filesystem::path data() const { return folder.path / "data"; }

  std::vector<Override> keys(const std::string& run) const {
    return {{"task", "translation"},
            {"data.directory", data().string()},
            {"data.length", "16"},
            {"model.layers", "1"},
            {"model.width", "32"},
            {"model.heads", "2"},
            {"model.feed_forward", "64"},
            {"model.dropout", "0"},
            {"model.norm", "pre"},
            {"model.embedding_scale", "sqrt_width"},
            {"model.initialization", "0.1"},
            {"translation.label_smoothing", "0"},
            {"training.batch_tokens", "200"},
            {"training.learning_rate", "5e-3"},
            {"training.beta2", "0.98"},
            {"training.weight_decay", "0"},
            {"training.precision", "fp32"},
            {"training.log_every", "0"},
            {"threads", "1"},
            {"runs", (folder.path / "runs").string()},
            {"run", run}};
  }
  Settings settings(const std::string& run, const std::vector<Override>& more = {}) const {
    std::vector<Override> all = keys(run);
    all.insert(all.end(), more.begin(), more.end());
    return default_settings(all);
  }

 private:
  std::filesystem::path side(const std::string& name, const std::string& language) const {
    return folder.path / (name + "." + language);
  }
  PairSource source(const std::string& name) const {
    return {.source = side(name, "en"), .target = side(name, "de")};
  }

  // Words of two to five of four letters.
  void write(const std::string& name, std::uint64_t stream, std::int64_t pairs) const {
    std::ofstream sources(side(name, "en")), targets(side(name, "de"));
    Random random(random_key({99, stream}));
    for (std::int64_t i = 0; i < pairs; ++i) {
      std::string text;
      const auto length = 2 + static_cast<int>(random.uniform() * 4);
      for (int k = 0; k < length; ++k) {
        text += static_cast<char>('a' + static_cast<int>(random.uniform() * 4));
      }
      sources << text << '\n';
      targets << std::string(text.rbegin(), text.rend()) << '\n';
    }
  }
};

}  // namespace roformer
