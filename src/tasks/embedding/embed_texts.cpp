#include "tasks/embedding/embed_texts.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "data/corpus.h"
#include "data/corpus_stream.h"
#include "data/table_reader.h"
#include "data/text_pairs.h"

namespace roformer {
namespace {

constexpr std::size_t kTextsAtATime = 8192;

// Reads a column of a table, or each line as a text.
class TextSource {
 public:
  explicit TextSource(const TextsToEmbed& texts) {
    if (texts.column.empty()) {
      lines_.emplace(texts.file, LineReader::kAnyLength);
      return;
    }
    table_.emplace(texts.file, TableReader::Options{.header = texts.header});
    column_ = table_->column(texts.column, "--column");
  }

  std::optional<std::string> next() {
    if (table_) {
      if (!table_->next()) return std::nullopt;
      return table_->text(column_);
    }
    std::string_view line;
    if (!lines_->next_text(line)) return std::nullopt;
    return std::string(line);
  }

  LineReader& lines() { return table_ ? table_->lines() : *lines_; }

 private:
  std::optional<LineReader> lines_;
  std::optional<TableReader> table_;
  std::size_t column_ = 0;
};

// "reviews.csv.gz" is a table.
bool is_table_by_name(const std::string& file) {
  const std::string type = ending_of(file);
  return type == ".csv" || type == ".tsv" || type == ".jsonl";
}

}  // namespace

EmbeddedTexts embed_texts(const Embedder& embedder, const Tokenizer& tokenizer, std::int64_t length,
                          const TextsToEmbed& texts, VectorFile& output) {
  if (texts.column.empty() && is_table_by_name(texts.file)) {
    throw_usage("--column", texts.file + " is a table by its name",
                "--column NAME, the column of the texts");
  }
  TextSource source(texts);
  ProgressBar bar("embedding", corpus_bytes({texts.file}), "B");
  bar.begin();
  EmbeddedTexts result;
  std::vector<std::string> part;
  std::vector<EncodedText> encoded;
  const auto write_part = [&] {
    if (part.empty()) return;
    const at::Tensor vectors = embedder.predict(encoded).contiguous();
    const float* row = vectors.const_data_ptr<float>();
    for (const std::string& text : part) {
      output.write(text, {row, static_cast<std::size_t>(embedder.outputs())});
      row += embedder.outputs();
    }
    bar.advance_to(source.lines().raw_bytes());
    part.clear();
    encoded.clear();
  };
  while (std::optional<std::string> text = source.next()) {
    encoded.push_back(encode_text(tokenizer, *text, {}, length));
    result.cut += encoded.back().cut ? 1 : 0;
    ++result.texts;
    part.push_back(std::move(*text));
    if (part.size() == kTextsAtATime) write_part();
  }
  write_part();
  bar.clear();
  source.lines().warn_of_replaced();
  if (result.texts == 0) throw_failure(source.lines().name(), "has no texts");
  return result;
}

}  // namespace roformer
