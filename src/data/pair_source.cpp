#include "data/pair_source.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "data/corpus.h"
#include "data/help_page.h"
#include "data/line_reader.h"
#include "data/text_lines.h"
#include "data/tmx.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::pair<PairFormat, const char*>, 5> kFormats = {{
    {PairFormat::aligned, "aligned"},
    {PairFormat::tsv, "tsv"},
    {PairFormat::jsonl, "jsonl"},
    {PairFormat::tmx, "tmx"},
    {PairFormat::libreoffice_help, "libreoffice-help"},
}};
constexpr std::int64_t kProgressLines = 1024;

// Both files read to their ends, the shorter one's last line named.
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

// {"translation": {"en": …, "de": …}} or the inner object alone.
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
  if (ending == ".jsonl" || ending == ".ndjson" || ending == ".json") return PairFormat::jsonl;
  // Two such files would pass for the two sides of one text.
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
  std::string known;
  for (const auto& [format, text] : kFormats) {
    if (name == text) return format;
    known += known.empty() ? text : std::string(", ") + text;
  }
  throw_usage("format", fmt::format("'{}' is not known (known: {})", name, known));
}

std::string to_string(PairFormat format) {
  return kFormats[static_cast<std::size_t>(format)].second;
}

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
      // An id that stands on a page twice means its first paragraph.
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

}  // namespace roformer
