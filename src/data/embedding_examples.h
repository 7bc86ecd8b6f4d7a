// Pairs and triplets of texts for training and measuring embeddings, read from a table: two texts
// that belong together, perhaps a third that does not, perhaps the similarity of the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/split.h"
#include "data/table_reader.h"

namespace roformer {

// Texts are numbers into EmbeddingExamples::texts.
struct EmbeddingExample {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::int64_t negative = -1;  // of triplets
  double score = 0;            // as in the file, if there is one
};

struct EmbeddingExamples {
  std::vector<std::string> texts;  // each text once
  std::vector<EmbeddingExample> examples;
  bool triplets = false;
  bool scored = false;
  bool ignores_scores = false;  // the file has a column of scores that is not read
};

// The columns of the texts, two or three, at most `most`: those of settings.text, or sentence1 and
// sentence2, or anchor, positive and (for in_batch, if the table has it) negative. Throws Error
// (usage) if the table lacks them.
std::vector<std::size_t> embedding_text_columns(const TableReader& table,
                                                const EmbeddingSettings& settings,
                                                std::size_t most = 3);
// One of them is in the first line of every table with a header.
std::vector<std::string> usual_embedding_names(const EmbeddingSettings& settings);

enum class ScoresOfFile { needed, if_there, not_read };

// Reads a CSV, TSV or JSON Lines file with the columns of settings.embedding; "-" is standard
// input. Throws Error: usage for a column that the file lacks; failure, with FILE:LINE, for an
// empty text and a score that is no number.
EmbeddingExamples read_embedding_examples(const std::filesystem::path& file,
                                          const Settings& settings, ScoresOfFile scores);

// data.train, or data.validation. Without data.validation, a lone file is divided by a hash of the
// first text, so that all examples of one text are on one side. Throws as read_embedding_examples
// does, and Error (failure) if a part of a divided file is empty.
EmbeddingExamples read_embedding_split(const Settings& settings, Split split);

// The share of a lone training file that is for validation.
double embedding_validation_fraction(const Settings& settings);

// The number that scores are divided by to become cosines: the highest score, or 1 if no score is
// above 1. Throws Error (usage) if scores above 1 and below 0 are mixed.
double score_scale(const EmbeddingExamples& examples, const std::string& file);

}  // namespace roformer
