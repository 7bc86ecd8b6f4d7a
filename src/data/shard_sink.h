// Receives documents, tokenises them on several threads and writes them into the shards of their
// splits, in the order of the corpus.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "data/corpus.h"
#include "data/dataset.h"
#include "data/shard.h"
#include "text/tokenizer.h"

namespace roformer {

class ShardSink : public CorpusSink {
 public:
  struct Options {
    std::filesystem::path folder;
    std::int64_t threads = 1;
    std::uint64_t shard_tokens = 0;  // a shard that has this many ends with its document
  };
  // Split of a document from its number in the corpus.
  using SplitChoice = std::function<Split(std::uint64_t document)>;

  ShardSink(Options options, const Tokenizer& tokenizer);
  ~ShardSink() override;

  // How the documents from now on are split.
  void choose_split(SplitChoice choice);
  void line(std::string_view text) override;
  void part(std::string_view text) override;
  void end_document() override;
  // Completes the last shards. Documents without a token are left out.
  std::array<DatasetDescription::OfSplit, kSplits.size()> finish();
  // Hash of the text and its document boundaries; after finish().
  std::uint64_t fingerprint() const;

 private:
  struct Block;
  struct FreeHash {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };

  Options options_;
  const Tokenizer& tokenizer_;
  bool keeps_line_ends_;  // characters and bytes: the line end is in the tokens, too
  SplitChoice choice_;
  std::vector<Block> blocks_;  // gathered text, tokenised together
  std::unique_ptr<XXH3_state_t, FreeHash> hash_;

  std::uint64_t document_ = 0;    // number of the current one in the corpus
  SplitCounts of_document_ = {};  // of the current one, written so far
  std::array<std::unique_ptr<ShardWriter>, kSplits.size()> writers_;
  std::array<DatasetDescription::OfSplit, kSplits.size()> splits_;

  Block& open_block();
  void encode(Block& block) const;
  void write(const Block& block);
  void write_blocks();
  void finish_shard(Split split);
};

}  // namespace roformer
