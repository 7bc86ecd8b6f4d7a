// The files that a corpus consists of, and the names of its options.
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/corpus.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::pair<CorpusReader, const char*>, 5> kReaders = {{
    {CorpusReader::automatic, "auto"},
    {CorpusReader::text, "text"},
    {CorpusReader::json_lines, "json-lines"},
    {CorpusReader::verbatim, "verbatim"},
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

bool is_hidden(const fs::path& name) {
  return name.string().starts_with(".") && name != "." && name != "..";
}

// Whether options.include names the file.
bool is_included(const fs::path& name, const CorpusOptions& options) {
  if (options.include.empty()) return true;
  const std::string file = name.filename().string();
  return std::any_of(
      options.include.begin(), options.include.end(),
      [&](const std::string& pattern) { return ::fnmatch(pattern.c_str(), file.c_str(), 0) == 0; });
}

bool is_wanted(const fs::path& file, const CorpusOptions& options) {
  if (file.filename().string().ends_with("~")) return false;  // an editor's copy of another file
  const std::string extension = file.extension().string();
  const bool page = extension == ".html" || extension == ".htm";
  return (options.reader != CorpusReader::libreoffice_help || page) && is_included(file, options);
}

std::string wanted_files(const CorpusOptions& options) {
  if (!options.include.empty()) return fmt::format("{}", fmt::join(options.include, ", "));
  return options.reader == CorpusReader::libreoffice_help ? "HTML files" : "files";
}

bool holds(const fs::path& folder, const fs::path& inside) {
  return std::ranges::mismatch(folder, inside).in1 == folder.end();
}

// The files of a folder and of the folders that links in it lead to, each read once: real folders
// before links, links in the order of their names, so that the same folder is the same corpus
// whatever order the system lists it in.
class FolderListing {
 public:
  FolderListing(const CorpusOptions& options, std::vector<fs::path>& files)
      : options_(options), files_(files) {}

  // Returns how many files were left out, and with them what is none: pipes, links to nothing or
  // to a folder that they lie in.
  std::uint64_t list(const fs::path& folder) {
    const fs::path root = fs::canonical(folder);
    read_.insert(root);
    std::vector<fs::path> folders{folder};
    for (std::size_t next = 0; next < folders.size(); ++next) {
      std::vector<fs::path> links = list_real(folders[next]);
      std::sort(links.begin(), links.end());
      for (const fs::path& link : links) {
        const fs::path target = fs::canonical(link);
        if (holds(target, root)) {
          ++skipped_;
        } else if (read_.insert(target).second) {
          folders.push_back(link);
        }
      }
    }
    return skipped_;
  }

 private:
  const CorpusOptions& options_;
  std::vector<fs::path>& files_;
  std::set<fs::path> read_;  // folders
  std::uint64_t skipped_ = 0;

  // Returns the links to folders.
  std::vector<fs::path> list_real(const fs::path& folder) {
    std::vector<fs::path> links;
    for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
      const bool hidden = is_hidden(entry->path().filename());
      if (entry->is_directory()) {
        if (!hidden && entry->is_symlink()) {
          links.push_back(entry->path());
        } else if (hidden || !read_.insert(fs::canonical(entry->path())).second) {
          entry.disable_recursion_pending();
        }
      } else if (!hidden) {
        if (entry->is_regular_file() && is_wanted(entry->path(), options_)) {
          files_.push_back(entry->path());
        } else {
          ++skipped_;
        }
      }
    }
    return links;
  }
};

// Returns how many files were left out.
std::uint64_t list_folder(const fs::path& folder, const CorpusOptions& options,
                          std::vector<fs::path>& files) {
  const std::size_t before = files.size();
  std::uint64_t skipped = 0;
  try {
    skipped = FolderListing(options, files).list(folder);
  } catch (const fs::filesystem_error& error) {
    throw_failure(error.path1().empty() ? folder.string() : error.path1().string(),
                  "cannot read: " + error.code().message());
  }
  if (files.size() == before) {
    throw_failure(folder.string(), "is a folder without " + wanted_files(options));
  }
  std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  return skipped;
}

}  // namespace

bool is_wanted_inside(const fs::path& name, const CorpusOptions& options) {
  return is_wanted(name, options) && std::none_of(name.begin(), name.end(), is_hidden);
}

void warn_of_repeated_files(const std::vector<fs::path>& files) {
  std::map<std::pair<dev_t, ino_t>, fs::path> seen;
  for (const fs::path& file : files) {
    struct stat status {};
    const bool known =
        file == "-" ? ::fstat(STDIN_FILENO, &status) == 0 : ::stat(file.c_str(), &status) == 0;
    if (!known) continue;
    const auto [first, added] = seen.emplace(std::pair(status.st_dev, status.st_ino), file);
    if (added) continue;
    if (file == "-" && first->second == "-") {
      throw_usage("-", "is standard input, which can be read once");
    }
    log::warn("{} is read twice{}: of repeated documents some are trained on and held out as well",
              file.string(),
              file == first->second ? std::string() : ", also as " + first->second.string());
  }
}

std::vector<fs::path> list_corpus_files(const CorpusOptions& options, std::uint64_t* skipped) {
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
      const std::uint64_t left_out = list_folder(input, options, files);
      if (skipped != nullptr) *skipped += left_out;
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
