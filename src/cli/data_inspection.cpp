#include "cli/data_inspection.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "base/hexadecimal.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/terminal.h"
#include "data/batches.h"

namespace roformer {
namespace {

std::string count(std::uint64_t value) {
  return format_count(static_cast<std::int64_t>(value));
}

std::string in_colour(const std::string& text, const char* code) {
  return wants_color(STDOUT_FILENO) ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

// A piece as it is shown: "word" marks of SentencePiece and WordPiece kept, control characters not.
std::string shown_piece(const Tokenizer& tokenizer, TokenId id) {
  return clean_line(tokenizer.piece(id));
}

std::string show_row(const Tokenizer& tokenizer, const std::vector<TokenId>& masked,
                     const std::vector<std::int32_t>& positions,
                     const std::vector<TokenId>& labels) {
  std::string text;
  std::size_t next = 0;
  for (std::size_t i = 0; i < masked.size(); ++i) {
    if (i > 0) text += ' ';
    const std::string piece = shown_piece(tokenizer, masked[i]);
    if (next == positions.size() || static_cast<std::size_t>(positions[next]) != i) {
      text += tokenizer.is_special(masked[i]) ? in_colour(piece, "2") : piece;
      continue;
    }
    const TokenId label = labels[next++];
    const std::string wanted = shown_piece(tokenizer, label);
    if (masked[i] == tokenizer.special().mask) {
      text += in_colour(fmt::format("{}={}", piece, wanted), "1;33");
    } else if (masked[i] != label) {
      text += in_colour(fmt::format("{}[random]={}", piece, wanted), "1;31");
    } else {
      text += in_colour(piece + "[kept]", "1;32");
    }
  }
  return text;
}

}  // namespace

std::string describe_dataset(const Dataset& dataset) {
  const DatasetDescription& about = dataset.description();
  std::string text = fmt::format("{}: data set {}\n", dataset.folder().string(), shown_name(about));
  const auto line = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12}  {}\n", name, value);
  };
  line("source", about.source);
  line("licence", about.licence);
  line("made by", about.command);
  line("fingerprint", hexadecimal(about.fingerprint));
  line("tokenizer", fmt::format("{}, {} entries", about.tokenizer,
                                count(static_cast<std::uint64_t>(about.vocabulary_size))));
  for (const Split split : kSplits) {
    const SplitCounts& counts = about[split].counts;
    if (counts.tokens == 0) continue;
    line(std::string(to_string(split)).c_str(),
         fmt::format("{} documents, {} tokens ({:.2f} % unknown), {} characters ({:.2f} a token), "
                     "{} shard{}",
                     count(counts.documents), count(counts.tokens),
                     100 * static_cast<double>(counts.unknown) / static_cast<double>(counts.tokens),
                     count(counts.characters),
                     static_cast<double>(counts.characters) / static_cast<double>(counts.tokens),
                     dataset.shards(split).size(), dataset.shards(split).size() == 1 ? "" : "s"));
  }
  if (about.files_skipped > 0) {
    line("files",
         fmt::format("{} read, {} left out", count(about.files), count(about.files_skipped)));
  }
  if (about.repeats_removed > 0) line("repeats", count(about.repeats_removed) + " lines left out");
  if (about.invalid_sequences > 0) {
    line("bad UTF-8", count(about.invalid_sequences) + " sequences replaced");
  }
  return clean_text(text);
}

std::string describe_lengths(const Dataset& dataset) {
  std::vector<std::uint64_t> histogram;  // [k]: lengths from 2^k to 2^(k+1) - 1
  for (const Split split : kSplits) {
    for (const Shard& shard : dataset.shards(split)) {
      const auto starts = shard.document_starts();
      for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        const auto power = static_cast<std::size_t>(std::bit_width(starts[i + 1] - starts[i])) - 1;
        if (histogram.size() <= power) histogram.resize(power + 1);
        ++histogram[power];
      }
    }
  }
  if (histogram.empty()) return "";
  const double largest = static_cast<double>(*std::max_element(histogram.begin(), histogram.end()));
  constexpr double kLongestBar = 36;  // with what stands before it: 79 columns
  std::string text = "tokens in a document:\n";
  for (std::size_t power = 0; power < histogram.size(); ++power) {
    const std::uint64_t low = std::uint64_t{1} << power;
    const auto width =
        static_cast<std::size_t>(kLongestBar * static_cast<double>(histogram[power]) / largest);
    text += fmt::format("  {:>11} to {:>11}  {:>11}  {}\n", count(low), count(2 * low - 1),
                        count(histogram[power]), std::string(width, '#'));
  }
  return text;
}

std::string masked_examples(const Dataset& dataset, const InspectionOptions& options) {
  const Tokenizer& tokenizer = dataset.tokenizer();
  const Rows rows(dataset, Split::train, {.length = options.length});
  std::string text;
  if (options.examples == 0 || rows.size() == 0) return text;
  if (tokenizer.special().mask < 0) {
    return "no rows are shown masked: the tokenizer has no mask token\n";
  }
  const Masker masker(tokenizer, options.masking);
  const Permutation order(static_cast<std::uint64_t>(rows.size()), random_key({options.seed}));
  text += fmt::format("masked rows of {} (of {}):\n", options.length,
                      count(static_cast<std::uint64_t>(rows.size())));
  for (std::int64_t i = 0; i < std::min(options.examples, rows.size()); ++i) {
    const auto number = static_cast<std::int64_t>(order[static_cast<std::uint64_t>(i)]);
    Row row = rows[number];
    std::vector<std::int32_t> positions;
    std::vector<TokenId> labels;
    masker.mask(row.ids, random_key({options.seed, static_cast<std::uint64_t>(number)}), positions,
                labels);
    text += fmt::format("\nrow {}, {} of {} tokens masked\n{}\n", number, positions.size(),
                        row.ids.size(), show_row(tokenizer, row.ids, positions, labels));
  }
  return text;
}

}  // namespace roformer
