// A corpus as a stream of documents: files, folders, archives and standard input, cut into
// documents by blank lines, one for each object of JSON Lines or page of LibreOffice's help; or
// verbatim, every byte of it. The text arrives line by line, so that no file need fit into memory,
// and a document only as an object of JSON Lines.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace roformer {

// automatic: JSON Lines where a file's name says so (.jsonl, .ndjson, compressed or not), else
// text.
enum class CorpusReader { automatic, text, json_lines, verbatim, libreoffice_help };
enum class DocumentSeparator { blank_line, two_blank_lines, line, file };

struct CorpusOptions {
  // Files, folders (all files below, sorted by path; names that begin with a dot or end with ~ are
  // left out, in archives, too), or "-" for standard input.
  std::vector<std::filesystem::path> inputs;
  CorpusReader reader = CorpusReader::automatic;
  DocumentSeparator separator = DocumentSeparator::blank_line;  // of the text reader
  std::string text_field = "text";                              // of JSON Lines
  bool remove_repeats = false;  // a line met before, anywhere in the corpus, is left out
  // Of folders and archives, only files whose name fits one of these ("*.txt"); empty: all.
  std::vector<std::string> include = {};
  bool skip_binary = false;  // a file that is no text is left out, with a warning; else an error
  bool skip_broken = false;  // a line of JSON Lines that is no object is left out, with a warning
  // Of folders: also links that lead out of them. Links inside a folder add nothing but what would
  // not be read under its own name.
  bool follow_links = false;
  // Of the verbatim reader, whose document is else a file: where documents end inside each, in
  // bytes.
  std::vector<std::uint64_t> cuts = {};
};

// Receives the corpus in order. A line comes without its line end; blank lines inside a document
// come as empty ones. Of a line longer than 1 MiB all but the end comes in parts.
class CorpusSink {
 public:
  virtual ~CorpusSink() = default;
  virtual void line(std::string_view text) = 0;
  // Text as it stands, with its line end where it has one: what the verbatim reader passes on.
  virtual void part(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    line(text);
  }
  // After the last line of each document; there is no document without a line that has text.
  virtual void end_document() = 0;
  // Bytes of the files read so far, now and then.
  virtual void progress(std::uint64_t) {}
};

struct CorpusCounts {
  std::uint64_t files = 0;    // read
  std::uint64_t skipped = 0;  // left out: their names do not fit, or they are no text
  std::uint64_t documents = 0;
  std::uint64_t lines = 0;
  std::uint64_t repeats = 0;  // lines left out by remove_repeats
  // Malformed sequences that became U+FFFD where the file was read: of JSON Lines. Those of text
  // are handed on to the tokenizer, which counts them.
  std::uint64_t replaced = 0;

  CorpusCounts& operator+=(const CorpusCounts& other);
};

// Throws Error (failure) naming the file: missing, unreadable, empty, damaged or no text.
CorpusCounts read_corpus(const CorpusOptions& options, CorpusSink& sink);
// The same for one of several corpora: a line that is among `lines_met` (hashes) is a repeat, too.
using LinesMet = std::unordered_set<std::uint64_t>;
CorpusCounts read_corpus(const CorpusOptions& options, CorpusSink& sink, LinesMet& lines_met);
// The same of files that were listed before: what came into a folder since is no part of it.
struct CorpusFiles {
  std::vector<std::filesystem::path> paths;
  std::uint64_t skipped = 0;
};
CorpusCounts read_corpus(const CorpusFiles& files, const CorpusOptions& options, CorpusSink& sink,
                         LinesMet& lines_met);

// The files that the inputs stand for, in the order of reading. Counts what was left out of folders
// (hidden files are not counted). A line says which links were left out, once for each folder.
std::vector<std::filesystem::path> list_corpus_files(const CorpusOptions& options,
                                                     std::uint64_t* skipped = nullptr);
// Whether a file is in the folder in the end, wherever links lead.
bool is_inside(const std::filesystem::path& folder, const std::filesystem::path& file);
// Of a corpus that is divided by documents: twice the same text may be trained on and held out.
// Throws Error (usage) for standard input given twice.
void warn_of_repeated_files(const std::vector<std::filesystem::path>& files);
// Whether a file of an archive is read: what is left out of folders is left out there, too.
bool is_wanted_inside(const std::filesystem::path& name, const CorpusOptions& options);
// Their bytes on the disk; 0 when standard input is among them.
std::uint64_t corpus_bytes(const std::vector<std::filesystem::path>& files);

// How one file is divided by its bytes, in their order: the first train, the next validate, the last
// test, as enwik8 is. A shorter file is taken for a prefix and divided in the same shares.
struct ByteShares {
  std::array<std::uint64_t, 3> bytes = {};  // by Split, of the whole file; all 0: not divided so
  std::string sha1;                         // of the whole file; empty: not known
  std::string begins_with;                  // what a prefix is known by; empty: not known

  std::uint64_t whole() const { return bytes[0] + bytes[1] + bytes[2]; }
};

struct DividedFile {
  std::uint64_t bytes = 0;          // that the file has
  std::vector<std::uint64_t> cuts;  // where validation and test begin
};

// Reads the corpus' one file from beginning to end. Throws Error where there are several, it can be
// read only once, begins otherwise than the shares say, is longer than they say or too short to be
// divided, or has the right length and another SHA-1.
DividedFile divide_file(const CorpusOptions& corpus, const ByteShares& shares);

// The names used in recipes and on the command line; throw Error (usage) with the known ones.
CorpusReader parse_corpus_reader(std::string_view name);
DocumentSeparator parse_document_separator(std::string_view name);
std::string to_string(CorpusReader reader);
std::string to_string(DocumentSeparator separator);

}  // namespace roformer
