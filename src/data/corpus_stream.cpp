#include "data/corpus_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <locale.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <initializer_list>
#include <utility>

#include "data/byte_source.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr const char* kStandardInput = "standard input";

std::string describe_path(const std::filesystem::path& path) {
  return path == "-" ? kStandardInput : path.string();
}

// A block may end inside a character.
bool is_utf8_so_far(std::string_view start) {
  constexpr std::size_t kLongestCharacter = 4;
  for (std::size_t cut = 0; cut < kLongestCharacter && cut <= start.size(); ++cut) {
    if (is_valid_utf8(start.substr(0, start.size() - cut))) return true;
  }
  return false;
}

// Control characters that no text has. Line ends, page ends and the escape of terminals are
// allowed.
bool has_controls(std::string_view start) {
  constexpr std::size_t kMost = 50;  // the share is one byte in kMost
  const auto is_control = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' && (byte < '\b' || byte > '\r') && byte != 0x1a && byte != 0x1b;
  };
  return static_cast<std::size_t>(std::ranges::count_if(start, is_control)) * kMost > start.size();
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Whether a name has this ending, in any case.
bool ends_in(const std::filesystem::path& name, std::initializer_list<std::string_view> endings) {
  const std::string text = in_small_letters(name.string());
  return std::ranges::any_of(endings, [&](std::string_view end) { return text.ends_with(end); });
}

// Warnings of libarchive that lose no text: names that the locale cannot represent (file names are
// checked later), and access rights.
bool is_harmless(std::string_view warning) {
  return warning.find("converted from") != std::string_view::npos ||
         warning.find("ACL") != std::string_view::npos;
}

// Refuses a member that is no file but has contents. A zip has no checksum of its members' kinds,
// so one flipped bit can turn a file into a link or a device.
void require_no_text(archive_entry* entry, const std::string& archive) {
  const char* const target = archive_entry_symlink(entry);
  const std::string_view link = target != nullptr ? target : "";
  if (archive_entry_size(entry) <= 0 && link.size() < PATH_MAX &&
      link.find('\n') == std::string_view::npos) {
    return;
  }
  const char* const name = archive_entry_pathname(entry);
  throw_failure(name != nullptr ? archive + ":" + name : archive,
                "cannot read: the archive is damaged: this is not a file but has contents");
}

// libarchive returns the names in an archive in the character set of the thread's locale, and no
// name if that set lacks a letter. The program's locale is "C".
class Utf8Names {
 public:
  Utf8Names() {
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 != nullptr) before_ = ::uselocale(utf8);
  }
  ~Utf8Names() {
    if (before_ != nullptr) ::uselocale(before_);
  }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  locale_t before_ = nullptr;
};

}  // namespace

struct CorpusStream::Handle {
  ByteSource source;
  archive* reader = archive_read_new();

  Handle(const std::filesystem::path& path, std::string begun) : source(path, std::move(begun)) {}
  ~Handle() { archive_read_free(reader); }

  int format() const { return archive_format(reader) & ARCHIVE_FORMAT_BASE_MASK; }

  // Callbacks of libarchive.
  static la_ssize_t next_block(archive* reader, void* self, const void** data) {
    ByteSource& source = static_cast<Handle*>(self)->source;
    const std::string_view bytes = source.read();
    if (!source.error().empty()) {
      archive_set_error(reader, EIO, "%s", source.error().c_str());
      return ARCHIVE_FATAL;
    }
    *data = bytes.data();
    return static_cast<la_ssize_t>(bytes.size());
  }
  static la_int64_t seek(archive* reader, void* self, la_int64_t offset, int whence) {
    ByteSource& source = static_cast<Handle*>(self)->source;
    const std::int64_t place = source.seek(offset, whence);
    if (place >= 0) return place;
    archive_set_error(reader, EIO, "%s", source.error().c_str());
    return ARCHIVE_FATAL;
  }
};

// Text has no NUL. UTF-16 text has, but its byte order mark identifies it. A compressed file with a
// damaged beginning may by chance have none.
void refuse_binary(const std::string& name, std::string_view bytes, std::size_t offset) {
  if (offset == 0 && (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))) {
    throw NotText({.message = "is UTF-16 text, wanted UTF-8",
                   .location = name,
                   .hint = "convert it: iconv -f UTF-16 -t UTF-8"});
  }
  constexpr const char* kWanted = "give UTF-8 text, plain or as .gz, .bz2, .xz, .zst, .tar or .zip";
  const std::size_t found = bytes.find('\0');
  if (found != std::string_view::npos) {
    throw NotText({.message = fmt::format("is no text: a NUL byte at offset {}", offset + found),
                   .location = name,
                   .hint = kWanted});
  }
  if (offset == 0 && has_controls(bytes) && !is_utf8_so_far(bytes)) {
    throw NotText({.message = "is not text: it is not UTF-8 and has control characters",
                   .location = name,
                   .hint = kWanted});
  }
}

std::filesystem::path without_compression(const std::filesystem::path& name) {
  const std::string ending = in_small_letters(name.extension().string());
  for (const char* const packed : {".gz", ".bz2", ".xz", ".zst"}) {
    if (ending == packed) return name.stem();
  }
  return name;
}

std::string ending_of(const std::filesystem::path& name) {
  return in_small_letters(without_compression(name.filename()).extension().string());
}

CorpusStream::CorpusStream(const std::filesystem::path& path, std::string begun)
    : path_(describe_path(path)),
      name_(path_),
      handle_(std::make_unique<Handle>(path, std::move(begun))) {
  archive* const reader = handle_->reader;
  archive_read_support_format_empty(reader);
  archive_read_support_format_raw(reader);
  archive_read_support_format_tar(reader);
  archive_read_support_format_zip_seekable(reader);
  // `cat a.tar b.tar` gives two archives in one file. Without this option the first zeros end the
  // reading.
  archive_read_set_format_option(reader, "tar", "read_concatenated_archives", "1");
  archive_read_set_callback_data(reader, handle_.get());
  archive_read_set_read_callback(reader, &Handle::next_block);
  if (handle_->source.is_seekable()) archive_read_set_seek_callback(reader, &Handle::seek);
  require(archive_read_open1(reader));
}

CorpusStream::~CorpusStream() = default;

bool CorpusStream::next_file() {
  if (only_zeros_) return false;
  const Utf8Names names;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle_->reader, &entry);
    // Zeros may be a tar without members; then the file is not text.
    only_zeros_ = status != ARCHIVE_OK && status != ARCHIVE_EOF && members_ == 0 &&
                  handle_->source.error().empty() && handle_->source.begins_with('\0');
    if (only_zeros_) return at_start_ = true;
    require(status);
    if (status == ARCHIVE_EOF) {
      require_end();
      return false;
    }
    ++members_;
    const bool raw = handle_->format() == ARCHIVE_FORMAT_RAW;
    if (!raw && archive_entry_filetype(entry) != AE_IFREG) {
      require_no_text(entry, path_);
      if (archive_entry_filetype(entry) != AE_IFDIR) ++left_out_;
      const char* const name = archive_entry_pathname(entry);
      const char* const target = archive_entry_hardlink(entry);
      if (name != nullptr && target != nullptr) hard_links_.push_back({name, target});
      continue;
    }
    const char* const inside = raw ? "" : archive_entry_pathname(entry);
    if (inside == nullptr) {
      throw_failure(path_, "holds a file whose name is not UTF-8", "unpack it and name the folder");
    }
    inside_ = inside;
    name_ = inside_.empty() ? path_ : path_ + ":" + inside_;
    at_start_ = true;
    return true;
  }
}

std::string_view CorpusStream::read_bytes() {
  if (only_zeros_) return {"\0", std::exchange(at_start_, false) ? std::size_t{1} : 0};
  for (;;) {
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(handle_->reader, &data, &size, &offset);
    require(status);
    if (status == ARCHIVE_EOF) return {};
    if (size == 0) continue;  // the raw reader reports its end only in the next call
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (std::exchange(at_start_, false)) refuse_wrong_name(bytes);
    return bytes;
  }
}

std::string_view CorpusStream::read() {
  const bool at_start = at_start_;
  const std::string_view bytes = read_bytes();
  if (at_start && !bytes.empty()) refuse_binary(name_, bytes);
  return bytes;
}

std::uint64_t CorpusStream::raw_bytes() const {
  const ByteSource& source = handle_->source;
  if (!source.is_seekable() || source.is_compressed()) return source.raw_bytes();
  return static_cast<std::uint64_t>(archive_filter_bytes(handle_->reader, -1));
}

// Every status except OK and EOF is a failure: libarchive would continue with the next header it
// finds (ARCHIVE_RETRY) or with what it has (ARCHIVE_WARN), and text would be lost.
void CorpusStream::require(int status) const {
  const char* const reason = archive_error_string(handle_->reader);
  const std::string text = reason != nullptr ? reason : "damaged";
  const bool good = status == ARCHIVE_OK || status == ARCHIVE_EOF ||
                    (status == ARCHIVE_WARN && is_harmless(text));
  // libarchive looks ahead, and may have dropped an earlier error.
  const bool read = handle_->source.error().empty();
  if (!good || (status == ARCHIVE_EOF && !read)) fail(text);
}

// At the end, either the whole file was read, or the rest is the end of an archive.
void CorpusStream::require_end() const {
  const int format = handle_->format();
  if (format != ARCHIVE_FORMAT_TAR && format != ARCHIVE_FORMAT_ZIP) return;
  if (!handle_->source.require_archive_end(path_, format == ARCHIVE_FORMAT_TAR, members_)) {
    fail("damaged");
  }
}

// If a file's name promises a format that was not found, the file is plain text or damaged at its
// beginning; a zip may be damaged at its end.
void CorpusStream::refuse_wrong_name(std::string_view start) const {
  if (handle_->format() != ARCHIVE_FORMAT_RAW) return;
  if (start.starts_with("PK\3\4") || start.starts_with("PK\5\6")) {
    throw_failure(path_, "cannot read: the archive is damaged: its directory is not at its end");
  }
  const bool packed = handle_->source.is_compressed();
  const std::filesystem::path path = path_;
  const std::filesystem::path name = packed ? without_compression(path) : path;
  const bool archive = ends_in(name, {".tar", ".tgz", ".tbz2", ".txz", ".tzst", ".zip"});
  const bool promised = archive || (!packed && ends_in(name, {".gz", ".bz2", ".xz", ".zst"}));
  const bool text = start.find('\0') == std::string_view::npos && is_utf8_so_far(start);
  if (!promised || text) return;
  throw_failure(name_, fmt::format("is damaged at its beginning: neither the {} that its name "
                                   "promises, nor text",
                                   archive ? "archive" : "compressed file"));
}

void CorpusStream::fail(const std::string& reason) const {
  const ByteSource& source = handle_->source;
  throw_failure(name_, "cannot read: " + (source.error().empty() ? reason : source.error()),
                source.hint());
}

}  // namespace roformer
