// The files that a corpus consists of, and the names of its options.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/corpus.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::pair<CorpusReader, const char*>, 2> kReaders = {{
    {CorpusReader::text, "text"},
    {CorpusReader::libreoffice_help, "libreoffice-help"},
}};
constexpr std::array<std::pair<DocumentSeparator, const char*>, 4> kSeparators = {{
    {DocumentSeparator::blank_line, "blank-line"},
    {DocumentSeparator::two_blank_lines, "two-blank-lines"},
    {DocumentSeparator::line, "line"},
    {DocumentSeparator::file, "file"},
}};

template <typename Value, std::size_t N>
Value parse_name(const std::array<std::pair<Value, const char*>, N>& names, std::string_view name,
                 const char* what) {
  std::string known;
  for (const auto& [value, text] : names) {
    if (name == text) return value;
    known += known.empty() ? text : std::string(", ") + text;
  }
  throw_usage(what, fmt::format("'{}' is not known (known: {})", name, known));
}

template <typename Value, std::size_t N>
std::string name_of(const std::array<std::pair<Value, const char*>, N>& names, Value wanted) {
  for (const auto& [value, text] : names) {
    if (value == wanted) return text;
  }
  ROFORMER_ASSERT(false);
  return {};
}

bool is_wanted(const fs::path& file, CorpusReader reader) {
  if (file.filename().string().starts_with(".")) return false;
  const std::string extension = file.extension().string();
  return reader == CorpusReader::text || extension == ".html" || extension == ".htm";
}

void list_folder(const fs::path& folder, CorpusReader reader, std::vector<fs::path>& files) {
  const std::size_t before = files.size();
  try {
    for (fs::recursive_directory_iterator place(folder), end; place != end; ++place) {
      const bool hidden = place->path().filename().string().starts_with(".");
      if (place->is_directory() && hidden) place.disable_recursion_pending();
      if (place->is_regular_file() && is_wanted(place->path(), reader)) {
        files.push_back(place->path());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw_failure(error.path1().empty() ? folder.string() : error.path1().string(),
                  "cannot read: " + error.code().message());
  }
  if (files.size() == before) {
    throw_failure(folder.string(), reader == CorpusReader::text ? "is a folder without files"
                                                                : "is a folder without HTML files");
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
}

}  // namespace

std::vector<fs::path> list_corpus_files(const CorpusOptions& options) {
  if (options.inputs.empty()) {
    throw_usage("corpus", "no file is given", "name files or folders, or - for standard input");
  }
  std::vector<fs::path> files;
  for (const fs::path& input : options.inputs) {
    std::error_code error;
    const fs::file_status status = fs::status(input, error);
    if (input != "-" && !fs::exists(status)) {
      throw_failure(input.string(), "cannot read: " + error.message());
    }
    if (input != "-" && fs::is_directory(status)) {
      list_folder(input, options.reader, files);
    } else {
      files.push_back(input);
    }
  }
  return files;
}

std::uint64_t corpus_bytes(const std::vector<fs::path>& files) {
  std::uint64_t bytes = 0;
  for (const fs::path& file : files) {
    std::error_code error;
    const std::uint64_t size = file == "-" ? 0 : fs::file_size(file, error);
    if (file == "-" || error) return 0;
    bytes += size;
  }
  return bytes;
}

CorpusReader parse_corpus_reader(std::string_view name) {
  return parse_name(kReaders, name, "reader");
}

DocumentSeparator parse_document_separator(std::string_view name) {
  return parse_name(kSeparators, name, "document separator");
}

std::string to_string(CorpusReader reader) {
  return name_of(kReaders, reader);
}

std::string to_string(DocumentSeparator separator) {
  return name_of(kSeparators, separator);
}

}  // namespace roformer
