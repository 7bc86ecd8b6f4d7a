#include "data/corpus_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "data/gzip_stream.h"

namespace roformer {
namespace {

constexpr std::size_t kReadBytes = 1 << 18;

std::string describe_path(const std::filesystem::path& path) {
  return path == "-" ? "standard input" : path.string();
}

// libarchive gives the names in an archive in the characters of the thread's locale, and none where
// that has no such letters. The program's own is "C".
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
  archive* reader = archive_read_new();
  int descriptor = -1;
  std::string block;                       // what was read last, of a pipe
  bool block_is_new = false;               // libarchive has not seen it
  std::unique_ptr<GzipStream> compressed;  // where it is gzip

  // Looks at the first two bytes, which tell gzip.
  void begin() {
    for (std::string more; block.size() < 2 && read_block(more) && !more.empty();) block += more;
    block_is_new = true;
    if (GzipStream::is_gzip(block)) {
      compressed = std::make_unique<GzipStream>(descriptor, std::move(block));
    }
  }

  // False where the descriptor cannot be read, with errno; empty at the end.
  bool read_block(std::string& bytes) const {
    bytes.resize(kReadBytes);
    ssize_t size = 0;
    do {
      size = ::read(descriptor, bytes.data(), bytes.size());
    } while (size < 0 && errno == EINTR);
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return size >= 0;
  }

  // What libarchive calls for more bytes of a gzip file or a pipe.
  static la_ssize_t next_block(archive* reader, void* self, const void** data) {
    Handle& handle = *static_cast<Handle*>(self);
    std::string_view bytes;
    if (handle.compressed) {
      bytes = handle.compressed->read();
      if (!handle.compressed->error().empty()) {
        archive_set_error(reader, EIO, "%s", handle.compressed->error().c_str());
        return ARCHIVE_FATAL;
      }
    } else {
      if (!std::exchange(handle.block_is_new, false) && !handle.read_block(handle.block)) {
        archive_set_error(reader, errno, "%s", system_message(errno).c_str());
        return ARCHIVE_FATAL;
      }
      bytes = handle.block;
    }
    *data = bytes.data();
    return static_cast<la_ssize_t>(bytes.size());
  }

  ~Handle() {
    archive_read_free(reader);
    if (descriptor > STDIN_FILENO) ::close(descriptor);
  }
};

// Text holds no NUL; UTF-16 text, which does, is told apart by its mark.
void refuse_binary(const std::string& name, std::string_view bytes, std::size_t offset) {
  if (offset == 0 && (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))) {
    throw NotText({.message = "is UTF-16 text, wanted UTF-8",
                   .location = name,
                   .hint = "convert it: iconv -f UTF-16 -t UTF-8"});
  }
  const std::size_t found = bytes.find('\0');
  if (found != std::string_view::npos) {
    throw NotText({.message = fmt::format("is no text: a NUL byte at offset {}", offset + found),
                   .location = name,
                   .hint = "give UTF-8 text, plain or as .gz, .bz2, .xz, .zst, .tar or .zip"});
  }
}

std::filesystem::path without_compression(const std::filesystem::path& name) {
  for (const char* const packed : {".gz", ".bz2", ".xz", ".zst"}) {
    if (name.extension() == packed) return name.stem();
  }
  return name;
}

CorpusStream::CorpusStream(const std::filesystem::path& path, Contents contents, std::string begun)
    : path_(describe_path(path)),
      name_(path_),
      handle_(std::make_unique<Handle>()),
      contents_(contents) {
  if (path == "-") {
    handle_->descriptor = STDIN_FILENO;
  } else {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      throw_failure(path_, "is a directory, not a file");
    }
    handle_->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (handle_->descriptor < 0) throw_failure(path_, "cannot read: " + system_message(errno));
  }
  archive* const reader = handle_->reader;
  archive_read_support_filter_bzip2(reader);
  archive_read_support_filter_xz(reader);
  archive_read_support_filter_zstd(reader);
  archive_read_support_format_empty(reader);
  archive_read_support_format_raw(reader);
  archive_read_support_format_tar(reader);
  archive_read_support_format_zip(reader);
  const bool from_begin = begun.empty();
  handle_->block = std::move(begun);
  handle_->begin();
  // A zip archive is read from its end, if the file can be sought.
  const bool by_libarchive =
      !handle_->compressed && from_begin && ::lseek(handle_->descriptor, 0, SEEK_SET) == 0;
  const int opened = by_libarchive ? archive_read_open_fd(reader, handle_->descriptor, kReadBytes)
                                   : archive_read_open(reader, handle_.get(), nullptr,
                                                       &Handle::next_block, nullptr);
  if (opened != ARCHIVE_OK) fail();
}

CorpusStream::~CorpusStream() = default;

bool CorpusStream::next_file() {
  const Utf8Names names;
  for (;;) {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(handle_->reader, &entry);
    if (status == ARCHIVE_EOF) return false;
    if (status < ARCHIVE_WARN) fail();
    const bool raw = archive_format(handle_->reader) == ARCHIVE_FORMAT_RAW;
    if (!raw && archive_entry_filetype(entry) != AE_IFREG) continue;
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

std::string_view CorpusStream::read() {
  for (;;) {
    const void* data = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(handle_->reader, &data, &size, &offset);
    if (status == ARCHIVE_EOF) return {};
    if (status != ARCHIVE_OK) fail();  // a warning is a checksum or a length that does not fit
    if (size == 0) continue;           // the raw reader reports its end only in the next call
    const std::string_view bytes(static_cast<const char*>(data), size);
    if (std::exchange(at_start_, false) && contents_ == Contents::text) refuse_binary(name_, bytes);
    return bytes;
  }
}

std::uint64_t CorpusStream::raw_bytes() const {
  if (handle_->compressed) return handle_->compressed->raw_bytes();
  return static_cast<std::uint64_t>(archive_filter_bytes(handle_->reader, -1));
}

void CorpusStream::fail() const {
  // libarchive looks ahead, and may have forgotten what it was told then.
  if (handle_->compressed && !handle_->compressed->error().empty()) {
    throw_failure(name_, "cannot read: " + handle_->compressed->error());
  }
  const char* const reason = archive_error_string(handle_->reader);
  throw_failure(name_, fmt::format("cannot read: {}", reason != nullptr ? reason : "damaged"));
}

}  // namespace roformer
