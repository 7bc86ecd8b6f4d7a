// From text to a prepared data set: reads a corpus once, tokenises it on several threads and writes
// shards. The folder appears under its name only when it is complete. The result does not depend on
// the number of threads, nor on whether a process before was killed: its finished shards are kept
// (see preparation_journal.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/dataset.h"
#include "text/tokenizer.h"

namespace roformer {

struct PrepareOptions {
  CorpusOptions corpus;
  // When given, these are the validation set, and no other document of the corpus is. Those that
  // lie in a folder of the corpus are not trained on.
  std::vector<std::filesystem::path> validation_inputs;
  std::vector<std::filesystem::path> test_inputs = {};  // likewise
  double validation_fraction = 0.2;  // of the documents, in [0, 1); 0: no validation set
  double test_fraction = 0;          // likewise
  ByteShares shares = {};            // in place of all of these: the corpus is one file
  std::uint64_t seed = 1;            // of the choice of validation and test documents
  std::filesystem::path output;
  bool overwrite = false;  // replace a data set that is there
  std::int64_t threads = 1;
  std::uint64_t shard_tokens = std::uint64_t{1} << 27;  // a shard ends with the document after
  // What dataset.json says about the corpus.
  std::string name;
  std::string source;
  std::string licence;
  std::string command;
};

// Throws Error: the corpus is missing or no text, the output exists, a split stays empty, the disk
// is full. Then nothing is left behind and an existing data set is untouched.
DatasetDescription prepare(const PrepareOptions& options, const Tokenizer& tokenizer);

// Of a document: a function of its place in the corpus. Another share for the test set leaves the
// validation set as it is.
struct SplitFractions {
  double validation = 0;
  double test = 0;
};
Split split_of(std::uint64_t document, const SplitFractions& fractions, std::uint64_t seed);

}  // namespace roformer
