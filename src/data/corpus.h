// A corpus as a stream of documents from files, folders, archives and standard input. Blank lines
// separate documents; or each object of JSON Lines, each page of LibreOffice's help, or each whole
// file (verbatim, every byte) is one. The text arrives line by line, so no file must fit into
// memory. Only an object of JSON Lines must.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "config/word_list.h"

namespace roformer {

// automatic: JSON Lines if a file's name says so (.jsonl, .ndjson, compressed or not), else text.
enum class CorpusReader { automatic, text, json_lines, verbatim, libreoffice_help };
enum class DocumentSeparator { blank_line, two_blank_lines, line, file };
// The words of recipes and of the command line.
ROFORMER_WORDS(CorpusReader, "auto", "text", "json-lines", "verbatim", "libreoffice-help");
ROFORMER_WORDS(DocumentSeparator, "blank-line", "two-blank-lines", "line", "file");

struct CorpusOptions {
  // Files, folders or "-" for standard input. A folder stands for all files below it, sorted by
  // path, without names that begin with a dot or end with ~. Archives omit such names, too.
  std::vector<std::filesystem::path> inputs;
  CorpusReader reader = CorpusReader::automatic;
  DocumentSeparator separator = DocumentSeparator::blank_line;  // of the text reader
  std::string text_field = "text";                              // of JSON Lines
  bool remove_repeats = false;  // a line met before, anywhere in the corpus, is left out
  // Reads only files of folders and archives whose names match one of these ("*.txt"); empty: all.
  std::vector<std::string> include = {};
  bool skip_binary = false;  // a file that is no text is left out, with a warning; else an error
  bool skip_broken = false;  // a line of JSON Lines that is no object is left out, with a warning
  // Also follows links that lead out of folders. Links inside a folder add only files that are not
  // already read under another name.
  bool follow_links = false;
  // The positions, in bytes, where the verbatim reader ends documents inside a file. Empty: a file
  // is a document.
  std::vector<std::uint64_t> cuts = {};
};

// Receives the corpus in order. Lines come without their line ends. Blank lines inside a document
// come as empty ones. A line longer than 1 MiB, without its end, comes in parts.
class CorpusSink {
 public:
  virtual ~CorpusSink() = default;
  virtual void line(std::string_view text) = 0;
  // Text of the verbatim reader, including any line end.
  virtual void part(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    line(text);
  }
  // Called after the last line of each document. Every document has a line with text.
  virtual void end_document() = 0;
  // Called now and then with the bytes of the files read so far.
  virtual void progress(std::uint64_t) {}
};

struct CorpusCounts {
  std::uint64_t files = 0;    // read
  std::uint64_t skipped = 0;  // left out: their names do not fit, or they are no text
  std::uint64_t documents = 0;
  std::uint64_t lines = 0;
  std::uint64_t repeats = 0;  // lines left out by remove_repeats
  // Malformed sequences of JSON Lines, which became U+FFFD when the file was read. The tokenizer
  // receives and counts those of plain text.
  std::uint64_t replaced = 0;

  CorpusCounts& operator+=(const CorpusCounts& other);
};

// Throws Error (failure) naming the file if it is missing, unreadable, empty, damaged or no text.
CorpusCounts read_corpus(const CorpusOptions& options, CorpusSink& sink);
// The same for one of several corpora: a line whose hash is in `lines_met` also counts as a repeat.
using LinesMet = std::unordered_set<std::uint64_t>;
CorpusCounts read_corpus(const CorpusOptions& options, CorpusSink& sink, LinesMet& lines_met);
// The same for files that were listed earlier: files added to a folder since then are ignored.
struct CorpusFiles {
  std::vector<std::filesystem::path> paths;
  std::uint64_t skipped = 0;
};
CorpusCounts read_corpus(const CorpusFiles& files, const CorpusOptions& options, CorpusSink& sink,
                         LinesMet& lines_met);

// The files of the inputs, in the order of reading. Adds to `skipped` the files of folders that
// were left out, except hidden ones. Warns of left-out links, once for each folder.
std::vector<std::filesystem::path> list_corpus_files(const CorpusOptions& options,
                                                     std::uint64_t* skipped = nullptr);
// Whether a file is in the folder after links are followed.
bool is_inside(const std::filesystem::path& folder, const std::filesystem::path& file);
// Warns of files that are read twice: after the documents are divided, the same text might be in
// the training set and in a held-out set. Throws Error (usage) if standard input is given twice.
void warn_of_repeated_files(const std::vector<std::filesystem::path>& files);
// Whether a file of an archive is read. Archives leave out the same files as folders.
bool is_wanted_inside(const std::filesystem::path& name, const CorpusOptions& options);
// The size of the files on the disk in bytes; 0 if standard input is among them.
std::uint64_t corpus_bytes(const std::vector<std::filesystem::path>& files);

// How to divide one file by its bytes, in their order: the first train, the next validate, the last
// test, as in enwik8. A shorter file is treated as a prefix and divided in the same shares.
struct ByteShares {
  std::array<std::uint64_t, 3> bytes = {};  // by Split, of the whole file; all 0: not divided so
  std::string sha1;                         // of the whole file; empty: not known
  // The first bytes of the file, by which a prefix is recognised; empty: not known.
  std::string begins_with;

  std::uint64_t whole() const { return bytes[0] + bytes[1] + bytes[2]; }
};

struct DividedFile {
  std::uint64_t bytes = 0;          // that the file has
  std::vector<std::uint64_t> cuts;  // the offsets of validation and test
};

// Reads the only file of the corpus from beginning to end. Throws Error if the corpus has several
// files, or if the file can be read only once, does not begin with the given bytes, is longer than
// the shares, is too short to divide, or has the right length and another SHA-1.
DividedFile divide_file(const CorpusOptions& corpus, const ByteShares& shares);

// The value with this word. Throws Error (usage) with the known words; `what` describes the value.
template <class Value>
Value value_named(std::string_view word, const char* what) {
  constexpr auto& words = Words<Value>::texts;
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<Value>(found - words.begin());
  throw_usage(what, fmt::format("'{}' is not known (known: {})", word, fmt::join(words, ", ")));
}

// These throw Error (usage) with the known names.
CorpusReader parse_corpus_reader(std::string_view name);
DocumentSeparator parse_document_separator(std::string_view name);
inline std::string to_string(CorpusReader reader) {
  return to_word(reader);
}

}  // namespace roformer
