// From text to a prepared data set: reads a corpus once, tokenises it on several threads and writes
// shards. The folder appears under its name only when it is complete. The result does not depend on
// the number of threads.
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
  // When given, these are the validation set and the corpus is all training set.
  std::vector<std::filesystem::path> validation_inputs;
  double validation_fraction = 0.2;  // of the documents, in [0, 1); 0: no validation set
  std::uint64_t seed = 1;            // of the choice of validation documents
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

// Whether a document belongs to the validation set: a function of its place in the corpus.
bool is_validation_document(std::uint64_t document, double fraction, std::uint64_t seed);

}  // namespace roformer
