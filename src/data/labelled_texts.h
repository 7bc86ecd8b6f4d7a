// Texts and pairs of texts with their labels, for classifiers: from files that users bring. GLUE's
// files (glue.h) give the same examples.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/classification_settings.h"
#include "config/data_settings.h"
#include "data/table_reader.h"

namespace roformer {

struct LabelledText {
  std::int64_t index = 0;  // the file's own, or the number of the row
  std::string first;
  std::string second;                // of a pair
  std::int64_t label = -1;           // class number
  double score = 0;                  // regression
  std::vector<std::int64_t> labels;  // class numbers in increasing order, for TargetKind::multi
};

struct LabelledTexts {
  std::vector<LabelledText> examples;
  bool pairs = false;
  bool labelled = false;             // test files come without labels
  std::int64_t empty_sentences = 0;  // or blank ones
  std::int64_t malformed_rows = 0;   // with bytes that are no UTF-8
  // Rows of QQP's published files that are broken into several lines; they are left out. In any
  // other task such a row is an error.
  std::int64_t broken_rows = 0;
};

// The columns of a table that hold the texts: those of the settings, or of well-known names
// ("text", "sentence", "sentence1" and "sentence2"), or the one beside the label in a table of two
// columns. Throws Error (usage) if there are none.
struct TextColumns {
  std::size_t first = 0;
  std::optional<std::size_t> second;
};
TextColumns text_columns(const TableReader& table, const ClassificationSettings& settings);

// The names of which a file of texts to classify has at least one.
std::vector<std::string> usual_text_names(const ClassificationSettings& settings);

// Returns the classes of the training file: "1", "2", "10" by number, other names by their bytes.
// Throws Error (failure) for a file with fewer than two. For regression there are none.
std::vector<std::string> find_classes(const DataSettings& data,
                                      const ClassificationSettings& settings);

// The examples of data.train and data.validation. `settings.classes` must be complete. Throws Error
// (failure, FILE:LINE) for an unknown class or another wrong label.
struct LabelledSplits {
  LabelledTexts training, validation;
};
LabelledSplits read_labelled_splits(const DataSettings& data,
                                    const ClassificationSettings& settings);
LabelledTexts read_labelled_texts(const std::filesystem::path& file, bool header,
                                  const ClassificationSettings& settings);

// Holds out a share of the examples of each class: those with the smallest hashes of their texts,
// at least one. Equal texts stay together, in the training if they are more than twice the share or
// the whole class. A regression's or multi-label examples are one class.
LabelledSplits divide_labelled(LabelledTexts texts, double validation_fraction);
// The share that data.validation_fraction selects for such a file.
double held_out_share(const DataSettings& data);

}  // namespace roformer
