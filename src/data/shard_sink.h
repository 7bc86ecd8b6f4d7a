// Receives documents, tokenises them on several threads and writes them into the shards of their
// splits, in the order of the corpus. Documents in finished shards of an earlier process are only
// counted and hashed.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/corpus.h"
#include "data/dataset.h"
#include "data/preparation.h"
#include "data/shard.h"
#include "text/tokenizer.h"

namespace roformer {

// The contents of the finished shards of one split.
struct FinishedShards {
  DatasetDescription::OfSplit so_far = {};
  std::uint64_t documents = 0;  // the split's share of the first so many documents of the corpus
  std::uint64_t text = 0;       // hash of the text of so many documents
};
using FinishedSplits = BySplit<FinishedShards>;

nlohmann::ordered_json to_json(const FinishedSplits& finished);
std::vector<FinishedShard> read_finished(const JsonFields& state, FinishedSplits& finished);

class ShardSink : public CorpusSink {
 public:
  struct Options {
    std::filesystem::path folder;
    std::int64_t threads = 1;
    std::uint64_t shard_tokens = 0;  // a shard that has this many ends with its document
    FinishedSplits finished = {};    // shards that are in the folder already
    // Called whenever another shard is finished and synced.
    std::function<void(const FinishedSplits&)> on_finished = {};
  };
  // Split of a document from its number in the corpus.
  using SplitChoice = std::function<Split(std::uint64_t document)>;

  ShardSink(Options options, const Tokenizer& tokenizer);
  ~ShardSink() override;

  // How to split the documents from now on.
  void choose_split(SplitChoice choice);
  void line(std::string_view text) override;
  void part(std::string_view text) override;
  void end_document() override;
  // Completes the last shards. Documents without a token are left out. Throws CorpusChanged, as the
  // other calls do, if the text differs from that of the finished shards.
  BySplit<DatasetDescription::OfSplit> finish();
  // Hash of the text and its document boundaries. Call it after finish().
  std::uint64_t fingerprint() const { return hash_.digest(); }
  // Malformed UTF-8 in documents of finished shards, which the tokenizer did not read this time.
  std::uint64_t invalid_in_finished() const { return invalid_in_finished_.load(); }

 private:
  struct Block;

  Options options_;
  const Tokenizer& tokenizer_;
  bool keeps_line_ends_;  // characters and bytes: the line end is in the tokens, too
  SplitChoice choice_;
  std::vector<Block> blocks_;  // gathered text, tokenised together
  RunningHash hash_;

  std::uint64_t document_read_ = 0;  // number in the corpus of the one that is being gathered
  std::uint64_t document_ = 0;       // and of the one that is being written
  SplitCounts of_document_ = {};     // of that, so far
  BySplit<std::unique_ptr<ShardWriter>> writers_;
  BySplit<DatasetDescription::OfSplit> splits_;
  FinishedSplits finished_;
  mutable std::atomic<std::uint64_t> invalid_in_finished_{0};

  Block& open_block();
  // Whether an earlier process wrote the document into a finished shard.
  bool is_finished(std::uint64_t document) const;
  void encode(Block& block) const;
  void write(const Block& block);
  void write_tokens(Split split, std::span<const TokenId> ids);
  void end_written_document(Split split);
  void compare_with_finished() const;
  void write_blocks();
  void finish_shard(Split split);
};

}  // namespace roformer
