// The files that a corpus consists of, and the names of its options.
#include <fmt/format.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sha1.h"
#include "data/corpus.h"
#include "data/corpus_stream.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool is_hidden(const fs::path& name) {
  return name.string().starts_with(".") && name != "." && name != "..";
}

// Whether options.include names the file.
bool is_included(const fs::path& name, const CorpusOptions& options) {
  if (options.include.empty()) return true;
  const std::string file = name.filename().string();
  return std::ranges::any_of(options.include, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), file.c_str(), 0) == 0;
  });
}

bool is_wanted(const fs::path& file, const CorpusOptions& options) {
  if (file.filename().string().ends_with("~")) return false;  // an editor's copy of another file
  const std::string ending = ending_of(file);
  const bool page = ending == ".html" || ending == ".htm";
  return (options.reader != CorpusReader::libreoffice_help || page) && is_included(file, options);
}

std::string wanted_files(const CorpusOptions& options) {
  if (!options.include.empty()) return fmt::format("{}", fmt::join(options.include, ", "));
  return options.reader == CorpusReader::libreoffice_help ? "HTML files" : "files";
}

bool holds(const fs::path& folder, const fs::path& inside) {
  return std::ranges::mismatch(folder, inside).in1 == folder.end();
}

using Inode = std::pair<dev_t, ino_t>;

std::optional<Inode> inode_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return Inode(status.st_dev, status.st_ino);
}

// An untrusted folder may hold links to files outside the corpus.
void warn_of_links(const fs::path& folder, const std::vector<std::string>& links) {
  static std::mutex mutex;
  static std::set<std::string> warned;  // a command lists a folder more than once
  if (links.empty()) return;
  const std::lock_guard lock(mutex);
  if (!warned.insert(folder.string()).second) return;
  log::warn("{}: {} out of the folder {} left out: {} (--follow-links follows them)",
            folder.string(), format_counted(static_cast<std::int64_t>(links.size()), "link"),
            links.size() == 1 ? "is" : "are", few_of(links));
}

// The files of a folder and of the links in it. Each file is read once: real files and folders
// before links, links in the order of their names. So the same folder is the same corpus in
// whatever order the system lists it.
class FolderListing {
 public:
  FolderListing(const fs::path& folder, const CorpusOptions& options)
      : folder_(folder), root_(fs::canonical(folder)), options_(options) {
    folders_.insert(root_);
    std::vector<fs::path> folders{folder};
    for (std::size_t next = 0; next < folders.size(); ++next) {
      std::vector<fs::path> links = list_real(folders[next]);
      std::ranges::sort(links);
      for (const fs::path& link : links) {
        if (is_link_to_folder(link)) folders.push_back(link);
      }
    }
    std::ranges::sort(files_);
  }

  const std::vector<fs::path>& files() const { return files_; }
  // The number of files left out, and of entries that are no files: pipes, and links that are not
  // followed.
  std::uint64_t skipped() const { return skipped_; }
  // Links that lead out of the folder.
  const std::vector<std::string>& links() const { return links_; }

 private:
  const fs::path& folder_;
  fs::path root_;
  const CorpusOptions& options_;
  std::vector<fs::path> files_;
  std::set<fs::path> folders_;             // read
  std::optional<std::set<Inode>> inodes_;  // of files_, once there are links
  std::uint64_t skipped_ = 0;
  std::vector<std::string> links_;

  // Returns the links.
  std::vector<fs::path> list_real(const fs::path& folder) {
    std::vector<fs::path> links;
    for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
      const bool hidden = is_hidden(entry->path().filename());
      if (entry->is_symlink()) {
        if (!hidden) links.push_back(entry->path());
      } else if (entry->is_directory()) {
        if (hidden || !folders_.insert(fs::canonical(entry->path())).second) {
          entry.disable_recursion_pending();
        }
      } else if (!hidden) {
        add(entry->path(), entry->is_regular_file());
      }
    }
    return links;
  }

  // After links are followed, each file once.
  void add(const fs::path& file, bool is_regular) {
    const auto is_new = [&] {
      const auto inode = inode_of(file);
      return inode && inodes_->insert(*inode).second;
    };
    if (is_regular && is_wanted(file, options_) && (!inodes_ || is_new())) {
      files_.push_back(file);
    } else {
      ++skipped_;
    }
  }

  // Adds the file that a link leads to. Returns true for a link to a folder that should be read.
  bool is_link_to_folder(const fs::path& link) {
    std::error_code error;
    const fs::path target = fs::canonical(link, error);
    if (error) {  // to nothing, or in a circle
      ++skipped_;
      return false;
    }
    if (!options_.follow_links && !holds(root_, target)) {
      links_.push_back(link.lexically_relative(folder_).string());
      ++skipped_;
      return false;
    }
    if (fs::is_directory(target)) {
      const bool is_new = !holds(target, root_) && folders_.insert(target).second;
      if (!is_new) ++skipped_;
      return is_new;
    }
    if (!inodes_) {
      inodes_.emplace();
      for (const fs::path& file : files_) {
        if (const auto inode = inode_of(file)) inodes_->insert(*inode);
      }
    }
    add(link, fs::is_regular_file(target));
    return false;
  }
};

// Returns how many files were left out.
std::uint64_t list_folder(const fs::path& folder, const CorpusOptions& options,
                          std::vector<fs::path>& files) {
  try {
    const FolderListing listing(folder, options);
    if (listing.files().empty()) {
      throw_failure(folder.string(), "is a folder without " + wanted_files(options),
                    listing.links().empty()
                        ? ""
                        : fmt::format("{} out of it: --follow-links follows them",
                                      format_counted(std::ssize(listing.links()), "link")));
    }
    warn_of_links(folder, listing.links());
    files.insert(files.end(), listing.files().begin(), listing.files().end());
    return listing.skipped();
  } catch (const fs::filesystem_error& error) {
    throw_failure(error.path1().empty() ? folder.string() : error.path1().string(),
                  "cannot read: " + error.code().message());
  }
}

constexpr std::uint64_t kShortestShare = 8;  // bytes: a cut moves by less, to a character's begin

std::string counted(std::uint64_t bytes) {
  return format_count(static_cast<std::int64_t>(bytes));
}

}  // namespace

bool is_inside(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path place = error ? fs::path() : fs::canonical(file, error);
  return !error && holds(root, place);
}

bool is_wanted_inside(const fs::path& name, const CorpusOptions& options) {
  return is_wanted(name, options) && std::ranges::none_of(name, is_hidden);
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

DividedFile divide_file(const CorpusOptions& corpus, const ByteShares& shares) {
  const std::vector<std::filesystem::path> files = list_corpus_files(corpus);
  const std::string location = files.front().string();
  const char* const wanted = "only a single file can be divided by bytes";
  if (files.size() > 1) {
    throw_usage(location, fmt::format("and {} more: {}", files.size() - 1, wanted));
  }
  if (files.front() == "-") {
    throw_usage("standard input", "can be read only once, so it cannot be divided by bytes",
                "write it into a file");
  }
  CorpusStream stream(files.front());
  DividedFile result;
  Sha1 hash;
  std::string begin;
  for (std::size_t inside = 0; stream.next_file(); ++inside) {
    if (inside > 0) throw_usage(location, fmt::format("holds several files: {}", wanted));
    for (std::string_view bytes = stream.read(); !bytes.empty(); bytes = stream.read()) {
      result.bytes += bytes.size();
      hash.update(bytes);
      begin += bytes.substr(0, shares.begins_with.size() - begin.size());
    }
  }
  if (!shares.begins_with.starts_with(begin)) {
    throw_failure(location, "is neither the recipe's file nor a prefix of it: it begins otherwise",
                  "fetch it again; `roformer data prepare FILE --reader verbatim` takes any file");
  }
  if (result.bytes > shares.whole()) {
    throw_failure(location, fmt::format("has {} bytes, the recipe's file has {}",
                                        counted(result.bytes), counted(shares.whole())));
  }
  if (result.bytes == shares.whole() && !shares.sha1.empty()) {
    const std::string found = hash.finish();
    if (found != shares.sha1) {
      throw_failure(
          location,
          fmt::format("is not the recipe's file: SHA-1 {}, wanted {}", found, shares.sha1),
          "fetch it again");
    }
  }
  // Exact if the file is whole. A prefix is rounded down.
  const auto share = [&](std::uint64_t bytes) {
    return static_cast<std::uint64_t>(
        static_cast<double>(result.bytes) *
        (static_cast<double>(bytes) / static_cast<double>(shares.whole())));
  };
  const bool whole = result.bytes == shares.whole();
  const std::uint64_t train = whole ? shares.bytes[0] : share(shares.bytes[0]);
  const std::uint64_t validation = whole ? shares.bytes[1] : share(shares.bytes[1]);
  if (train < kShortestShare || validation < kShortestShare ||
      result.bytes - train - validation < kShortestShare) {
    throw_failure(location, fmt::format("is too short to be divided: {} bytes", result.bytes));
  }
  result.cuts = {train, train + validation};
  return result;
}

CorpusReader parse_corpus_reader(std::string_view name) {
  return value_named<CorpusReader>(name, "reader");
}

DocumentSeparator parse_document_separator(std::string_view name) {
  return value_named<DocumentSeparator>(name, "document separator");
}

}  // namespace roformer
