// The vectors of a file of texts, for `roformer embed`. The file may be larger than the memory.
#pragma once

#include <cstdint>
#include <string>

#include "report/vector_file.h"
#include "tasks/embedding/embedder.h"
#include "text/tokenizer.h"

namespace roformer {

struct TextsToEmbed {
  std::string file = "-";  // -: standard input
  std::string column;      // of a CSV, TSV or JSON Lines file; empty: each line is a text
  bool header = true;      // the first line of CSV or TSV names the columns
};

struct EmbeddedTexts {
  std::int64_t texts = 0;
  std::int64_t cut = 0;  // longer than `length`
};

// Writes one vector for each line or row, in their order; an empty line has one too. Texts are read
// in parts, and texts of similar length in a part are computed together. Throws Error: usage for a
// table by its name without a column; failure as LineReader does, and for a file without texts.
EmbeddedTexts embed_texts(const Embedder& embedder, const Tokenizer& tokenizer, std::int64_t length,
                          const TextsToEmbed& texts, VectorFile& output);

}  // namespace roformer
