// What is whole of a data set in the making, so that a preparation that was killed goes on instead
// of beginning anew. Every time a shard is finished and synced, the journal in the folder is
// replaced by one that counts it. The next process reads the corpus again from its beginning, which
// takes a small part of the time that tokenising does and leaves nothing to be stored of the
// splitter's, the archives' and the repeated lines' state; it tokenises only the documents that are
// in no finished shard, and compares what it reads with what was read then.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/prepare.h"

namespace roformer {

// Name of the file in the folder.
inline constexpr const char* kPreparationJournal = "preparation.json";

// Of one split: its finished shards.
struct FinishedShards {
  DatasetDescription::OfSplit so_far = {};
  std::uint64_t documents = 0;  // those of the split among so many of the corpus are in them
  std::uint64_t text = 0;       // hash of the text of so many documents
};
using FinishedSplits = std::array<FinishedShards, kSplits.size()>;

// All that decides what is in the shards, each with the words for it: the program's build, the
// tokenizer, the options, the files with their sizes and times. Empty where the corpus can be read
// only once.
using PreparationIdentity = std::vector<std::pair<std::string, std::string>>;
PreparationIdentity identity_of(const PrepareOptions& options, const Tokenizer& tokenizer,
                                const std::vector<std::filesystem::path>& files);

class PreparationJournal {
 public:
  PreparationJournal(std::filesystem::path folder, PreparationIdentity identity)
      : folder_(std::move(folder)), identity_(std::move(identity)) {}

  // What a killed process with the same identity finished here, after reading its shards whole;
  // everything else in the folder is removed. Where there is nothing to go on with, all is, and a
  // line says why.
  FinishedSplits recover() const;
  void write(const FinishedSplits& finished) const;
  // Removes what is in the folder, after a line that says why.
  void begin_anew(const std::string& reason) const;

 private:
  std::filesystem::path folder_;
  PreparationIdentity identity_;

  FinishedSplits read() const;
  void remove_others(const FinishedSplits& finished) const;
};

// The corpus is not what it was when the finished shards were made.
class CorpusChanged : public Error {
 public:
  CorpusChanged() : Error({.message = "the corpus is not what it was"}) {}
};

}  // namespace roformer
