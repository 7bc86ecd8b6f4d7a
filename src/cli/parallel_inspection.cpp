#include "cli/parallel_inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/hexadecimal.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/random.h"
#include "report/table.h"

namespace roformer {
namespace {

constexpr NumberFormat kCount{.style = NumberFormat::Style::count};

std::string counted(std::uint64_t value) {
  return format_count(static_cast<std::int64_t>(value));
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

}  // namespace

std::string describe_parallel(const ParallelDataset& dataset) {
  const ParallelDescription& about = dataset.description();
  std::string text = fmt::format("{}: sentence pairs {}, {} to {}\n", dataset.folder().string(),
                                 about.name, about.languages.source, about.languages.target);
  const auto line = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<12}  {}\n", name, value);
  };
  line("source", about.source);
  line("licence", about.licence);
  line("made by", about.command);
  line("fingerprint", hexadecimal(about.fingerprint));
  for (const Side side : kSides) {
    if (about.joint_vocabulary && side == Side::target) continue;
    const auto& facts = about.tokenizers[static_cast<std::size_t>(side)];
    line(about.joint_vocabulary ? "vocabulary" : language(about, side) + " vocabulary",
         fmt::format("{}, {} entries{}", facts.description, format_count(facts.vocabulary_size),
                     about.joint_vocabulary ? ", joint" : ""));
  }
  return clean_text(text);
}

std::string describe_rules(const ParallelDescription& about) {
  std::vector<Column> columns = {{.title = "pairs", .alignment = Column::Alignment::left}};
  for (const ParallelDescription::Origin& origin : about.origins) {
    std::string title = origin.files;
    // The name of the first file says enough.
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
  return to_text(table, {.width = terminal_width()});
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
  return to_text(table, {.width = terminal_width()});
}

std::string describe_pair_lengths(const ParallelDataset& dataset) {
  std::array<std::vector<std::uint64_t>, 2> histograms;  // [k]: lengths from 2^k to 2^(k+1) - 1
  for (const Side side : kSides) {
    std::vector<std::uint64_t>& histogram = histograms[static_cast<std::size_t>(side)];
    for (const Split split : kSplits) {
      for (const std::int32_t length : dataset.lengths(split, side)) {
        const auto power =
            static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(length)) - 1);
        if (histogram.size() <= power) histogram.resize(power + 1);
        ++histogram[power];
      }
    }
  }
  const std::size_t rows = std::max(histograms[0].size(), histograms[1].size());
  std::uint64_t largest = 1;
  for (std::vector<std::uint64_t>& histogram : histograms) {
    histogram.resize(rows);
    for (const std::uint64_t value : histogram) largest = std::max(largest, value);
  }
  const ParallelDescription& about = dataset.description();
  std::string text = "tokens in a sentence, its end included:\n";
  text += fmt::format("  {:>7} {:>9}  {:>11} {:<24}  {:>11}\n", "from", "to",
                      language(about, Side::source), "", language(about, Side::target));
  for (std::size_t power = 0; power < rows; ++power) {
    const std::uint64_t low = std::uint64_t{1} << power;
    text += fmt::format("  {:>7} {:>9}", counted(low), counted(2 * low - 1));
    for (const std::vector<std::uint64_t>& histogram : histograms) {
      const auto width = static_cast<std::size_t>(24.0 * static_cast<double>(histogram[power]) /
                                                  static_cast<double>(largest));
      text += fmt::format("  {:>11} {:<24}", counted(histogram[power]), std::string(width, '#'));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

std::string pair_examples(const ParallelDataset& dataset, std::int64_t wanted, std::uint64_t seed) {
  std::string text;
  const ParallelDescription& about = dataset.description();
  for (const Split split : kSplits) {
    const std::int64_t pairs = dataset.sentences(split);
    if (pairs == 0 || wanted == 0) continue;
    const bool as_text = split != Split::train;
    std::array<std::vector<std::string>, 2> lines;
    for (const Side side : kSides) {
      if (as_text) lines[static_cast<std::size_t>(side)] = dataset.text(split, side);
    }
    text += fmt::format("\n{} pairs of {}{}:\n", std::min(wanted, pairs), to_string(split),
                        as_text ? ", as text" : ", as pieces");
    const Permutation order(static_cast<std::uint64_t>(pairs), random_key({seed}));
    for (std::int64_t i = 0; i < std::min(wanted, pairs); ++i) {
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

}  // namespace roformer
