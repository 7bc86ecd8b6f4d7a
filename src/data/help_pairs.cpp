#include "data/help_pairs.h"

#include <unordered_map>

#include "base/file.h"
#include "data/corpus.h"
#include "data/help_page.h"

namespace roformer {
namespace fs = std::filesystem;

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
