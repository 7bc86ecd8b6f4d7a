// Where the sentence pairs of a parallel corpus come from: two files whose lines belong together,
// one file of pairs (TSV, JSON lines, TMX), or two folders of LibreOffice's help. The pairs arrive
// one by one, so no file need fit into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

enum class PairFormat { aligned, tsv, jsonl, tmx, libreoffice_help };

struct PairLanguages {
  std::string source;  // codes: "en", "de", "zh-cn"
  std::string target;
};

struct PairSource {
  PairFormat format = PairFormat::aligned;
  // Of two files or folders, one a language; or `source` alone: a file of pairs.
  std::filesystem::path source;
  std::filesystem::path target;
  // How often each pair stands in the training set: 2 twice, 0.5 every other one.
  double weight = 1;
  // Of folders: also links that lead out of them.
  bool follow_links = false;
  bool skip_broken = false;  // a line of JSON Lines that is no object is left out, with a warning

  std::vector<std::filesystem::path> files() const;
};

struct SentencePair {
  std::string_view source;
  std::string_view target;
  // Pairs of one page stay in one split; elsewhere each pair counts as a page.
  std::uint64_t page = 0;
  // Malformed sequences that became U+FFFD where the pair was read.
  std::uint64_t replaced = 0;
};

class PairSink {
 public:
  virtual ~PairSink() = default;
  virtual void pair(const SentencePair& pair) = 0;
  // Bytes of the files read so far, now and then.
  virtual void progress(std::uint64_t) {}
};

struct PairReading {
  std::uint64_t pairs = 0;
  std::uint64_t unmatched = 0;  // texts in one language only: TMX units, paragraphs of the help
};

// Throws Error (failure) naming file:line: missing, damaged, no pairs, or files that do not match
// in their number of lines.
PairReading read_pairs(const PairSource& source, const PairLanguages& languages, PairSink& sink);

// The files that read_pairs will read, those in folders too, and their bytes on the disk.
std::vector<std::filesystem::path> pair_files(const PairSource& source);
std::uint64_t pair_bytes(const PairSource& source);

// What files of these names are: a folder is help, else the name's end decides; compression aside.
PairFormat guess_pair_format(const std::filesystem::path& path);
// Whether the format takes two files.
bool takes_two_files(PairFormat format);
// The names used in recipes; throws Error (usage) with the known ones.
PairFormat parse_pair_format(std::string_view name);
std::string to_string(PairFormat format);

// The help of LibreOffice in two languages as sentence pairs: paragraphs of the same file and id.

// The folders of HTML pages of each language. A page is one file of the source language. Links that
// lead out of the folders are followed only where that is asked for.
PairReading read_help_pairs(const std::filesystem::path& source,
                            const std::filesystem::path& target, bool follow_links, PairSink& sink);

}  // namespace roformer
