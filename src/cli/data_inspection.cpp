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
#include "report/table.h"

namespace roformer {
namespace {

constexpr NumberFormat kCount{.style = NumberFormat::Style::count};

std::string count(std::uint64_t value) {
  return format_count(static_cast<std::int64_t>(value));
}

std::string in_colour(const std::string& text, const char* code) {
  return wants_color(STDOUT_FILENO) ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

// The printed form of a piece: keeps the "word" marks of SentencePiece and WordPiece, replaces
// control characters.
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

Cell cell(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

const std::string& language(const ParallelDescription& about, Side side) {
  return side == Side::source ? about.languages.source : about.languages.target;
}

std::string pieces_of(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) text += (text.empty() ? "" : " ") + tokenizer.piece(id);
  return text;
}

void add_line(std::string& text, const std::string& name, const std::string& value) {
  if (!value.empty()) text += fmt::format("  {:<12}  {}\n", name, value);
}

// A corpus of many packages has a licence for each of them.
std::string shortened_list(const std::string& licence) {
  constexpr std::size_t kShown = 160;
  if (licence.size() <= kShown) return licence;
  const auto more = std::count(licence.begin() + kShown, licence.end(), ';');
  const std::size_t end = std::min(licence.size(), licence.find(';', kShown));
  return fmt::format("{}; {} more in dataset.json", licence.substr(0, end), more);
}

// The first lines of descriptions of text and of sentence pairs.
template <class Description>
void add_origin(std::string& text, const Description& about) {
  add_line(text, "source", about.source);
  add_line(text, "licence", shortened_list(about.licence));
  add_line(text, "made by", about.command);
  add_line(text, "fingerprint", hexadecimal(about.fingerprint));
}

// Entry k counts the lengths from 2^k to 2^(k+1) - 1.
using Histogram = std::vector<std::uint64_t>;

void add_length(Histogram& histogram, std::uint64_t length) {
  const auto power = static_cast<std::size_t>(std::bit_width(length) - 1);
  if (histogram.size() <= power) histogram.resize(power + 1);
  ++histogram[power];
}

std::string bar(std::uint64_t value, std::uint64_t largest, double longest) {
  const double share = static_cast<double>(value) / static_cast<double>(largest);
  return std::string(static_cast<std::size_t>(longest * share), '#');
}

}  // namespace

std::string describe(const Dataset& dataset) {
  const DatasetDescription& about = dataset.description();
  std::string text = fmt::format("{}: data set {}\n", dataset.folder().string(), shown_name(about));
  add_origin(text, about);
  add_line(text, "tokenizer",
           fmt::format("{}, {} entries", about.tokenizer,
                       count(static_cast<std::uint64_t>(about.vocabulary_size))));
  for (const Split split : kSplits) {
    const SplitCounts& counts = about[split].counts;
    if (counts.tokens == 0) continue;
    add_line(
        text, std::string(to_string(split)).c_str(),
        fmt::format("{} documents, {} tokens ({:.2f} % unknown), {} characters ({:.2f} a token), "
                    "{} shard{}",
                    count(counts.documents), count(counts.tokens),
                    100 * static_cast<double>(counts.unknown) / static_cast<double>(counts.tokens),
                    count(counts.characters),
                    static_cast<double>(counts.characters) / static_cast<double>(counts.tokens),
                    dataset.shards(split).size(), dataset.shards(split).size() == 1 ? "" : "s"));
  }
  if (about.files_skipped > 0) {
    add_line(text, "files",
             fmt::format("{} read, {} left out", count(about.files), count(about.files_skipped)));
  }
  if (about.repeats_removed > 0)
    add_line(text, "repeats", count(about.repeats_removed) + " lines left out");
  if (about.invalid_sequences > 0) {
    add_line(text, "bad UTF-8", count(about.invalid_sequences) + " sequences replaced");
  }
  return clean_text(text);
}

std::string describe(const ParallelDataset& dataset) {
  const ParallelDescription& about = dataset.description();
  std::string text = fmt::format("{}: sentence pairs {}, {} to {}\n", dataset.folder().string(),
                                 about.name, about.languages.source, about.languages.target);
  add_origin(text, about);
  for (const Side side : kSides) {
    if (about.joint_vocabulary && side == Side::target) continue;
    const auto& facts = about.tokenizers[static_cast<std::size_t>(side)];
    add_line(text, about.joint_vocabulary ? "vocabulary" : language(about, side) + " vocabulary",
             fmt::format("{}, {} entries{}", facts.description, format_count(facts.vocabulary_size),
                         about.joint_vocabulary ? ", joint" : ""));
  }
  return clean_text(text);
}

std::string describe_lengths(const Dataset& dataset) {
  Histogram histogram;
  for (const Split split : kSplits) {
    for (const Shard& shard : dataset.shards(split)) {
      const auto starts = shard.document_starts();
      for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        add_length(histogram, starts[i + 1] - starts[i]);
      }
    }
  }
  if (histogram.empty()) return "";
  constexpr double kLongestBar = 36;  // fits a line of 79 columns
  const std::uint64_t largest = std::ranges::max(histogram);
  std::string text = "tokens in a document:\n";
  for (std::size_t power = 0; power < histogram.size(); ++power) {
    const std::uint64_t low = std::uint64_t{1} << power;
    text += fmt::format("  {:>11} to {:>11}  {:>11}  {}\n", count(low), count(2 * low - 1),
                        count(histogram[power]), bar(histogram[power], largest, kLongestBar));
  }
  return text;
}

std::string describe_lengths(const ParallelDataset& dataset) {
  std::array<Histogram, 2> histograms;
  for (const Side side : kSides) {
    for (const Split split : kSplits) {
      for (const std::int32_t length : dataset.lengths(split, side)) {
        add_length(histograms[static_cast<std::size_t>(side)], static_cast<std::uint64_t>(length));
      }
    }
  }
  const std::size_t rows = std::max(histograms[0].size(), histograms[1].size());
  std::uint64_t largest = 1;
  for (Histogram& histogram : histograms) {
    histogram.resize(rows);
    for (const std::uint64_t value : histogram) largest = std::max(largest, value);
  }
  const ParallelDescription& about = dataset.description();
  std::string text = "tokens in a sentence, its end included:\n";
  text += fmt::format("  {:>7} {:>9}  {:>11} {:<24}  {:>11}\n", "from", "to",
                      language(about, Side::source), "", language(about, Side::target));
  for (std::size_t power = 0; power < rows; ++power) {
    const std::uint64_t low = std::uint64_t{1} << power;
    text += fmt::format("  {:>7} {:>9}", count(low), count(2 * low - 1));
    for (const Histogram& histogram : histograms) {
      text += fmt::format("  {:>11} {:<24}", count(histogram[power]),
                          bar(histogram[power], largest, 24));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string examples_of(const Dataset& dataset, const InspectionOptions& options) {
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

std::string examples_of(const ParallelDataset& dataset, const InspectionOptions& options) {
  std::string text;
  const ParallelDescription& about = dataset.description();
  for (const Split split : kSplits) {
    const std::int64_t pairs = dataset.sentences(split);
    if (pairs == 0 || options.examples == 0) continue;
    const bool as_text = split != Split::train;
    std::array<std::vector<std::string>, 2> lines;
    for (const Side side : kSides) {
      if (as_text) lines[static_cast<std::size_t>(side)] = dataset.text(split, side);
    }
    text += fmt::format("\n{} pairs of {}{}:\n", std::min(options.examples, pairs),
                        to_string(split), as_text ? ", as text" : ", as pieces");
    const Permutation order(static_cast<std::uint64_t>(pairs), random_key({options.seed}));
    for (std::int64_t i = 0; i < std::min(options.examples, pairs); ++i) {
      const auto number = static_cast<std::int64_t>(order[static_cast<std::uint64_t>(i)]);
      text += fmt::format("  {}\n", number);
      for (const Side side : kSides) {
        const std::string sentence =
            as_text ? lines[static_cast<std::size_t>(side)][static_cast<std::size_t>(number)]
                    : pieces_of(dataset.tokenizer(side), dataset.sentence(split, side, number));
        text += fmt::format("    {}  {}\n", language(about, side), clean_line(sentence));
      }
    }
  }
  return text;
}

std::string describe_rules(const ParallelDescription& about) {
  std::vector<Column> columns = {{.title = "pairs", .alignment = Column::Alignment::left}};
  for (const ParallelDescription::Origin& origin : about.origins) {
    std::string title = origin.files;
    // The name of the first file is enough.
    const std::string first = title.substr(0, title.find(','));
    title = first.substr(first.rfind('/') + 1);
    if (origin.weight != 1) title += fmt::format(" x{:g}", origin.weight);
    columns.push_back({.title = title, .format = kCount});
  }
  Table table(std::move(columns));
  const auto row = [&](const std::string& name, auto value) {
    std::vector<Cell> cells = {name};
    std::uint64_t sum = 0;
    for (const ParallelDescription::Origin& origin : about.origins) {
      cells.push_back(cell(value(origin.counts)));
      sum += value(origin.counts);
    }
    return std::pair(std::move(cells), sum);
  };
  const auto add = [&](const std::string& name, bool always, auto value) {
    auto [cells, sum] = row(name, value);
    if (always || sum > 0) table.add_row(std::move(cells));
  };
  add("read", true, [](const PairCounts& counts) { return counts.read; });
  for (std::size_t i = 0; i < kPairRules; ++i) {
    const auto rule = static_cast<PairRule>(i);
    add("- " + describe(rule, about.rules), rule == PairRule::empty,
        [rule](const PairCounts& counts) { return counts[rule]; });
  }
  add("kept", true, [](const PairCounts& counts) { return counts.kept; });
  add("malformed UTF-8 replaced in", false,
      [](const PairCounts& counts) { return counts.invalid; });
  add("texts of one language only", false,
      [](const PairCounts& counts) { return counts.unmatched; });
  return to_text(table, for_terminal());
}

std::string describe_splits(const ParallelDescription& about) {
  std::vector<Column> columns = {{.title = "split", .alignment = Column::Alignment::left},
                                 {.title = "pairs", .format = kCount}};
  for (const Side side : kSides) {
    const std::string& name = language(about, side);
    columns.push_back({.title = name + " tokens", .format = kCount});
    columns.push_back({.title = "longest", .format = kCount});
    columns.push_back(
        {.title = "pieces a word", .format = {.style = NumberFormat::Style::fixed, .digits = 2}});
    columns.push_back({.title = "unknown",
                       .unit = "%",
                       .format = {.style = NumberFormat::Style::percent, .digits = 2}});
  }
  Table table(std::move(columns));
  for (const Split split : kSplits) {
    const ParallelDescription::OfSplit& of_split = about[split];
    if (of_split.sentences == 0) continue;
    std::vector<Cell> cells = {std::string(to_string(split)), cell(of_split.sentences)};
    for (const Side side : kSides) {
      const ParallelDescription::OfSide& facts = of_split[side];
      const auto pieces = static_cast<double>(facts.tokens - of_split.sentences);
      cells.push_back(cell(facts.tokens));
      cells.push_back(cell(facts.longest));
      cells.push_back(pieces / static_cast<double>(std::max<std::uint64_t>(facts.words, 1)));
      cells.push_back(static_cast<double>(facts.unknown) / std::max(pieces, 1.0));
    }
    table.add_row(std::move(cells));
  }
  return to_text(table, for_terminal());
}

}  // namespace roformer
