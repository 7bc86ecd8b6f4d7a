#include "data/sentence_pairs.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "data/corpus.h"
#include "data/help_page.h"
#include "data/line_reader.h"
#include "data/record_reader.h"
#include "text/utf8.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kProgressLines = 1024;

// Reads both files to their ends. The error names the last line of the shorter file.
[[noreturn]] void refuse_lengths(LineReader& source, LineReader& target, bool source_ended) {
  LineReader& shorter = source_ended ? source : target;
  LineReader& longer = source_ended ? target : source;
  const std::int64_t lines = shorter.number();
  std::string_view line;
  while (longer.next(line)) {
  }
  throw_failure(shorter.location(1),
                fmt::format("the file ends after {} lines, {} has {}: they do not match line by "
                            "line",
                            format_count(lines), longer.name(), format_count(longer.number())),
                "look for a line that was split or lost in one of them");
}

PairReading read_aligned(const PairSource& files, PairSink& sink) {
  LineReader source(files.source);
  LineReader target(files.target);
  PairReading reading;
  for (SentencePair pair;; ++reading.pairs) {
    const bool has_source = source.next(pair.source);
    const bool has_target = target.next(pair.target);
    if (has_source != has_target) refuse_lengths(source, target, !has_source);
    if (!has_source) return reading;
    source.require_whole();
    target.require_whole();
    pair.page = reading.pairs;
    sink.pair(pair);
    if (source.number() % kProgressLines == 0) {
      sink.progress(source.raw_bytes() + target.raw_bytes());
    }
  }
}

constexpr const char* kTwoColumns = "a sentence, a tab and its translation on each line";

PairReading read_tsv(const PairSource& files, PairSink& sink) {
  LineReader lines(files.source);
  PairReading reading;
  std::int64_t empty = 0;  // lines, which end a file; before others they are no pairs
  for (std::string_view line; lines.next(line); ++reading.pairs) {
    for (; line.empty(); ++empty) {
      if (!lines.next(line)) return reading;
    }
    if (empty > 0) {
      throw_failure(lines.location(-empty), "has 1 column, wanted 2", kTwoColumns);
    }
    lines.require_whole();
    const Cells cells = tab_columns(line);
    require_columns(cells, 2, lines.location(), kTwoColumns);
    sink.pair({.source = cells[0], .target = cells[1], .page = reading.pairs});
    if (lines.number() % kProgressLines == 0) sink.progress(lines.raw_bytes());
  }
  return reading;
}

constexpr const char* kTranslation = R"(wanted {"translation": {"en": "...", "de": "..."}})";

// Reads {"translation": {"en": …, "de": …}} or only the inner object.
PairReading read_jsonl(const PairSource& files, const PairLanguages& languages, PairSink& sink) {
  LineReader lines(files.source);
  RecordReader records(lines, {.format = TextFormat::jsonl,
                               .hint = kTranslation,
                               .hint_for_broken = std::string(kTranslation) +
                                                  "; --skip-broken leaves other lines out",
                               .skip_broken = files.skip_broken});
  PairReading reading;
  while (records.next()) {
    if (records.is_left_out()) continue;
    const nlohmann::json& object = records.object();
    const auto inner = object.find("translation");
    const nlohmann::json& texts = inner != object.end() && inner->is_object() ? *inner : object;
    const std::uint64_t replaced = lines.replaced();
    const std::string source = records.text(languages.source, texts);
    const std::string target = records.text(languages.target, texts);
    sink.pair({.source = source,
               .target = target,
               .page = reading.pairs++,
               .replaced = lines.replaced() - replaced});
    if (lines.number() % kProgressLines == 0) sink.progress(lines.raw_bytes());
  }
  return reading;
}

// The help of LibreOffice in two languages: folders of HTML pages. Paragraphs with the same file
// and id are translations of each other.
PairReading read_help_pairs(const fs::path& source, const fs::path& target, bool follow_links,
                            PairSink& sink) {
  const auto pages = [&](const fs::path& folder) {
    return list_corpus_files({.inputs = {folder},
                              .reader = CorpusReader::libreoffice_help,
                              .follow_links = follow_links});
  };
  PairReading reading;
  std::uint64_t bytes = 0;
  std::uint64_t page = 0;
  for (const fs::path& file : pages(source)) {
    const fs::path other = target / file.lexically_relative(source);
    const std::string html = read_file(file);
    std::unordered_map<std::string, std::string> translations;
    std::error_code error;
    if (fs::exists(other, error) && (follow_links || is_inside(target, other))) {
      const std::string translated = read_file(other);
      bytes += translated.size();
      // If an id occurs twice on a page, the first paragraph counts.
      for (HelpParagraph& paragraph : parse_help_page(translated)) {
        translations.emplace(std::move(paragraph.id), std::move(paragraph.text));
      }
    }
    for (const HelpParagraph& paragraph : parse_help_page(html)) {
      const auto found = translations.find(paragraph.id);
      if (found == translations.end()) {
        ++reading.unmatched;
        continue;
      }
      sink.pair({.source = paragraph.text, .target = found->second, .page = page});
      translations.erase(found);
      ++reading.pairs;
    }
    reading.unmatched += translations.size();
    bytes += html.size();
    ++page;
    sink.progress(bytes);
  }
  return reading;
}

PairReading read_format(const PairSource& source, const PairLanguages& languages, PairSink& sink) {
  switch (source.format) {
    case PairFormat::aligned:
      return read_aligned(source, sink);
    case PairFormat::tsv:
      return read_tsv(source, sink);
    case PairFormat::jsonl:
      return read_jsonl(source, languages, sink);
    case PairFormat::tmx:
      return read_tmx(source.source, languages, sink);
    case PairFormat::libreoffice_help:
      return read_help_pairs(source.source, source.target, source.follow_links, sink);
  }
  ROFORMER_ASSERT(false);
  return {};
}

constexpr std::array<std::string_view, kPairRules> kNames = {
    "empty",        "too_short", "too_long",        "identical",
    "wrong_script", "duplicate", "too_many_pieces", "length_ratio"};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::vector<fs::path> PairSource::files() const {
  return target.empty() ? std::vector<fs::path>{source} : std::vector<fs::path>{source, target};
}

PairReading read_pairs(const PairSource& source, const PairLanguages& languages, PairSink& sink) {
  ROFORMER_ASSERT(takes_two_files(source.format) == !source.target.empty());
  const PairReading reading = read_format(source, languages, sink);
  sink.progress(pair_bytes(source));
  if (reading.pairs == 0) {
    throw_failure(
        source.source.string(),
        fmt::format("holds no pair of sentences of {} and {}", languages.source, languages.target),
        reading.unmatched > 0
            ? fmt::format("it has {} texts in one of these languages only: are the codes "
                          "right?",
                          format_count(static_cast<std::int64_t>(reading.unmatched)))
            : "");
  }
  return reading;
}

std::vector<fs::path> pair_files(const PairSource& source) {
  const CorpusReader reader = source.format == PairFormat::libreoffice_help
                                  ? CorpusReader::libreoffice_help
                                  : CorpusReader::text;
  return list_corpus_files(
      {.inputs = source.files(), .reader = reader, .follow_links = source.follow_links});
}

std::uint64_t pair_bytes(const PairSource& source) {
  return corpus_bytes(pair_files(source));
}

PairFormat guess_pair_format(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return PairFormat::libreoffice_help;
  const std::string ending = ending_of(path);
  if (ending == ".tmx") return PairFormat::tmx;
  if (ending == ".tsv") return PairFormat::tsv;
  for (const char* const json : {".jsonl", ".ndjson", ".json", ".parquet"}) {
    if (ending == json) return PairFormat::jsonl;
  }
  // Two files of pairs would be mistaken for the two sides of one text.
  if (ending == ".csv") {
    throw_usage(path.string(), "is CSV, which is not read as sentence pairs",
                "write tabs between the two sides (.tsv) or JSON Lines (.jsonl)");
  }
  return PairFormat::aligned;
}

bool takes_two_files(PairFormat format) {
  return format == PairFormat::aligned || format == PairFormat::libreoffice_help;
}

PairFormat parse_pair_format(std::string_view name) {
  return value_named<PairFormat>(name, "format");
}

std::string_view to_string(PairRule rule) {
  return kNames[static_cast<std::size_t>(rule)];
}

std::string describe(PairRule rule, const PairRules& rules) {
  switch (rule) {
    case PairRule::empty:
      return "a side is empty";
    case PairRule::too_short:
      return fmt::format("fewer than {} words", rules.shortest_words);
    case PairRule::too_long:
      return fmt::format("more than {} words", rules.longest_words);
    case PairRule::identical:
      return "both sides the same";
    case PairRule::wrong_script:
      return fmt::format("under {:g} % of the letters of the language's script",
                         100 * rules.script_share);
    case PairRule::duplicate:
      return "met before";
    case PairRule::too_many_pieces:
      return fmt::format("more than {} pieces", rules.longest_pieces);
    case PairRule::length_ratio:
      return fmt::format("one side more than {:g} times as long", rules.length_ratio);
  }
  ROFORMER_ASSERT(false);
  return {};
}

PairCounts operator+(PairCounts left, const PairCounts& right) {
  left.read += right.read;
  left.unmatched += right.unmatched;
  left.invalid += right.invalid;
  left.kept += right.kept;
  for (std::size_t i = 0; i < kPairRules; ++i) left.removed[i] += right.removed[i];
  return left;
}

std::string clean_sentence(std::string_view text, std::uint64_t& replaced) {
  std::string storage;
  std::string_view valid = repair_utf8(text, storage, replaced);
  while (!valid.empty() && is_space(valid.front())) valid.remove_prefix(1);
  while (!valid.empty() && is_space(valid.back())) valid.remove_suffix(1);
  std::string clean(valid);
  std::ranges::replace_if(
      clean, [](char c) { return is_space(c) || c == '\0'; }, ' ');
  return clean;
}

std::int64_t count_words(std::string_view text) {
  std::int64_t words = 0;
  bool in_word = false;
  for (const char c : text) {
    words += !in_word && !is_space(c);
    in_word = !is_space(c);
  }
  return words;
}

PairTextRules::PairTextRules(const PairRules& rules, const PairLanguages& languages)
    : rules_(rules), source_script_(languages.source), target_script_(languages.target) {
  if (rules.script_share <= 0) return;
  for (const auto& [script, language] : {std::pair(&source_script_, &languages.source),
                                         std::pair(&target_script_, &languages.target)}) {
    if (script->known()) continue;
    throw_usage("script_share", fmt::format("the script of language '{}' is not known", *language),
                "name languages by their codes, as en, de, zh, or leave the rule out");
  }
}

std::optional<PairRule> PairTextRules::broken_by(std::string_view source, std::string_view target) {
  if (source.empty() || target.empty()) return PairRule::empty;
  const auto [fewest, most] = std::minmax({count_words(source), count_words(target)});
  if (fewest < rules_.shortest_words) return PairRule::too_short;
  if (rules_.longest_words > 0 && most > rules_.longest_words) return PairRule::too_long;
  if (rules_.remove_identical && source == target) return PairRule::identical;
  if (rules_.script_share > 0 && (source_script_.share(source) < rules_.script_share ||
                                  target_script_.share(target) < rules_.script_share)) {
    return PairRule::wrong_script;
  }
  if (rules_.remove_duplicates) {
    const std::uint64_t hash = XXH3_64bits_withSeed(target.data(), target.size(),
                                                    XXH3_64bits(source.data(), source.size()));
    if (!seen_.insert(hash).second) return PairRule::duplicate;
  }
  return std::nullopt;
}

std::optional<PairRule> broken_by_pieces(const PairRules& rules, std::size_t source,
                                         std::size_t target) {
  const auto [fewest, most] = std::minmax(source, target);
  if (fewest == 0) return PairRule::empty;
  if (rules.longest_pieces > 0 && std::cmp_greater(most, rules.longest_pieces)) {
    return PairRule::too_many_pieces;
  }
  if (rules.length_ratio > 0 &&
      static_cast<double>(most) > rules.length_ratio * static_cast<double>(fewest)) {
    return PairRule::length_ratio;
  }
  return std::nullopt;
}

}  // namespace roformer
