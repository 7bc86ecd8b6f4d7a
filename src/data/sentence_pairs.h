// Reads the sentence pairs of a parallel corpus from two files whose lines correspond, one file of
// pairs (TSV, JSON lines, TMX), or two folders of LibreOffice's help. The pairs arrive one by one,
// so no file must fit into memory.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "config/word_list.h"
#include "text/characters.h"

namespace roformer {

enum class PairFormat { aligned, tsv, jsonl, tmx, libreoffice_help };
ROFORMER_WORDS(PairFormat, "aligned", "tsv", "jsonl", "tmx", "libreoffice-help");

struct PairLanguages {
  std::string source;  // codes: "en", "de", "zh-cn"
  std::string target;
};

struct PairSource {
  PairFormat format = PairFormat::aligned;
  // Two files or folders, one per language; or a file of pairs as `source` alone.
  std::filesystem::path source;
  std::filesystem::path target;
  // How often the training set has each pair: 2 twice, 0.5 every other pair.
  double weight = 1;
  bool follow_links = false;  // also those that lead out of folders
  bool skip_broken = false;   // leaves out lines of JSON Lines that are no objects, with a warning

  std::vector<std::filesystem::path> files() const;
};

struct SentencePair {
  std::string_view source;
  std::string_view target;
  // Pairs of one page stay in one split. Other sources count each pair as a page.
  std::uint64_t page = 0;
  // Malformed sequences that became U+FFFD when the pair was read.
  std::uint64_t replaced = 0;
};

class PairSink {
 public:
  virtual ~PairSink() = default;
  virtual void pair(const SentencePair& pair) = 0;
  // Called now and then with the bytes of the files read so far.
  virtual void progress(std::uint64_t) {}
};

struct PairReading {
  std::uint64_t pairs = 0;
  std::uint64_t unmatched = 0;  // texts in one language only: TMX units, paragraphs of the help
};

// Throws Error (failure) naming file:line for files that are missing, damaged, without pairs, or of
// different numbers of lines.
PairReading read_pairs(const PairSource& source, const PairLanguages& languages, PairSink& sink);

// The files that read_pairs will read, including those in folders, and their bytes on the disk.
std::vector<std::filesystem::path> pair_files(const PairSource& source);
std::uint64_t pair_bytes(const PairSource& source);

// A folder is help. Otherwise the name's ending decides; a compression ending is ignored.
PairFormat guess_pair_format(const std::filesystem::path& path);
// Whether the format takes two files.
bool takes_two_files(PairFormat format);
// Throws Error (usage) with the known words.
PairFormat parse_pair_format(std::string_view name);

// The rules that a pair must pass to enter a training set. A pair is counted at the first rule that
// it breaks, in the order of PairRule.
struct PairRules {
  std::int64_t shortest_words = 1;  // of each side at least (words apart by white space)
  std::int64_t longest_words = 0;   // of each side at most; 0: any
  std::int64_t longest_pieces = 0;  // of each side at most, of the tokenizer; 0: any
  double length_ratio = 0;          // pieces of the longer side / the shorter one's at most; 0: any
  bool remove_identical = false;    // both sides the same text
  bool remove_duplicates = false;   // a pair met before, in any source
  double script_share = 0;  // of the letters of each side, in its language's script, at least
};

// Calls visit(name, value) for each field. `Rules` is PairRules, const or not. The names are the
// keys of recipes and of dataset.json.
template <class Rules, class Visit>
void for_each_field(Rules& rules, Visit visit) {
  visit("shortest_words", rules.shortest_words);
  visit("longest_words", rules.longest_words);
  visit("longest_pieces", rules.longest_pieces);
  visit("length_ratio", rules.length_ratio);
  visit("remove_identical", rules.remove_identical);
  visit("remove_duplicates", rules.remove_duplicates);
  visit("script_share", rules.script_share);
}

enum class PairRule {
  empty,
  too_short,
  too_long,
  identical,
  wrong_script,
  duplicate,
  too_many_pieces,
  length_ratio
};
inline constexpr std::size_t kPairRules = 8;
// The name in dataset.json, "too_short".
std::string_view to_string(PairRule rule);
// The rule in words: "fewer than 4 words".
std::string describe(PairRule rule, const PairRules& rules);

struct PairCounts {
  std::uint64_t read = 0;
  std::uint64_t unmatched = 0;  // texts of one language only, never a pair
  std::uint64_t invalid = 0;    // pairs with malformed UTF-8, which was replaced by U+FFFD
  std::array<std::uint64_t, kPairRules> removed{};  // by PairRule
  std::uint64_t kept = 0;

  std::uint64_t& operator[](PairRule rule) { return removed[static_cast<std::size_t>(rule)]; }
  std::uint64_t operator[](PairRule rule) const { return removed[static_cast<std::size_t>(rule)]; }
};
PairCounts operator+(PairCounts left, const PairCounts& right);

// The text for a tokenizer: valid UTF-8, without white space at the ends, and with spaces for line
// ends and tabs. Adds the number of malformed sequences to `replaced`.
std::string clean_sentence(std::string_view text, std::uint64_t& replaced);

// The rules about the text, which apply before the tokenizer. If duplicates are removed, this
// object remembers one hash for each pair that passed.
class PairTextRules {
 public:
  // Throws Error (usage) if the rules need the script of a language and it is unknown.
  PairTextRules(const PairRules& rules, const PairLanguages& languages);

  // The rule that removes the pair of cleaned texts. Empty if the pair passes.
  std::optional<PairRule> broken_by(std::string_view source, std::string_view target);

 private:
  PairRules rules_;
  LanguageScript source_script_;
  LanguageScript target_script_;
  std::unordered_set<std::uint64_t> seen_;
};

// The rules about the numbers of pieces.
std::optional<PairRule> broken_by_pieces(const PairRules& rules, std::size_t source,
                                         std::size_t target);

std::int64_t count_words(std::string_view text);

// Reads a translation memory (TMX 1.4), an XML file of units, each with its text in several
// languages; compressed or not. A language matches its code with any region ("en" and "EN-US"); a
// code with a region matches the same region first. Text inside an editor's native codes (bpt, ept,
// ph, it, ut) is not part of the sentence. Throws Error (failure) naming file:line if the XML is
// damaged.
PairReading read_tmx(const std::filesystem::path& path, const PairLanguages& languages,
                     PairSink& sink);

}  // namespace roformer
