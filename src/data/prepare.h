// Prepares text: reads a corpus once, tokenises it on several threads and writes shards. The result
// depends neither on the number of threads nor on whether an earlier process was killed (see
// preparation.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/dataset.h"
#include "data/preparation.h"
#include "text/tokenizer.h"

namespace roformer {

struct PrepareOptions {
  CorpusOptions corpus;
  // If given, exactly these are the validation set. A folder of the corpus may contain them; they
  // are not trained on.
  std::vector<std::filesystem::path> validation_inputs;
  std::vector<std::filesystem::path> test_inputs = {};
  double validation_fraction = 0.2;  // of the documents, in [0, 1); 0: no validation set
  double test_fraction = 0;
  ByteShares shares = {};  // in place of all these: the corpus is one file
  std::uint64_t seed = 1;  // of the choice of validation and test documents
  std::filesystem::path output;
  bool overwrite = false;  // replace a data set that is there
  std::int64_t threads = 1;
  std::uint64_t shard_tokens = std::uint64_t{1} << 27;  // a shard ends with the document after
  // The information for dataset.json about the corpus.
  std::string name;
  std::string source;
  std::string licence;
  std::string command;
};

// Throws Error if the corpus is missing or no text, the output exists, a split stays empty or the
// disk is full. Then no file is left, and an existing data set is untouched.
DatasetDescription prepare(const PrepareOptions& options, const Tokenizer& tokenizer);

// The split of a document is a function of its place in the corpus. A different test share leaves
// the validation set unchanged.
struct SplitFractions {
  double validation = 0;
  double test = 0;
};
Split split_of(std::uint64_t document, const SplitFractions& fractions, std::uint64_t seed);

// `files` are all files that are read.
PreparationIdentity identity_of(const PrepareOptions& options, const Tokenizer& tokenizer,
                                const std::vector<std::filesystem::path>& files);

}  // namespace roformer
