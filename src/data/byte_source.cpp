#include "data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/origin.h"
#include "base/progress.h"
#include "data/codec.h"

namespace roformer {
namespace {

// The number of bytes at the end of a file that the checks need: a zip's comment has up to 64 KiB.
constexpr std::size_t kArchiveEnd = (1 << 16) + 128;

struct ArchiveEnd {
  std::string_view bytes;  // the last ones of the file, at most kArchiveEnd
  std::uint64_t size = 0;  // of the file
};

constexpr std::size_t kTarBlock = 512;

// Records at the end of a zip (APPNOTE 4.3.14 to 4.3.16), without their texts of variable length.
constexpr std::size_t kZipEnd = 22;
constexpr std::size_t kZip64Locator = 20;
constexpr std::size_t kZip64End = 56;
constexpr std::uint64_t kMostInShortRecord = 0xffff;  // members

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// The position of the last end record whose comment reaches to the end of the file or to zeros.
std::size_t find_zip_end(std::string_view end) {
  std::size_t at = end.rfind("PK\5\6");
  for (; at != std::string_view::npos; at = at == 0 ? at - 1 : end.rfind("PK\5\6", at - 1)) {
    if (at + kZipEnd > end.size()) continue;
    const std::size_t after = at + kZipEnd + little_endian(end, at + 20, 2);
    if (after <= end.size() && is_zero(end.substr(after))) return at;
  }
  return at;
}

struct ZipDirectory {
  bool is_long = false;
  std::uint64_t members = 0;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;  // the required end
};

// The end record at `at`, or the zip64 record before it, which also holds larger counts. Empty if
// that record is not at the given place.
std::optional<ZipDirectory> directory_of(const ArchiveEnd& end, std::size_t at) {
  const std::string_view bytes = end.bytes;
  const bool is_long =
      at >= kZip64Locator + kZip64End && bytes.substr(at - kZip64Locator).starts_with("PK\6\7");
  if (!is_long) {
    return ZipDirectory{.members = little_endian(bytes, at + 10, 2),
                        .bytes = little_endian(bytes, at + 12, 4),
                        .offset = little_endian(bytes, at + 16, 4),
                        .end = end.size - bytes.size() + at};
  }
  const std::uint64_t place = little_endian(bytes, at - kZip64Locator + 8, 8);
  const std::uint64_t record = place - (end.size - bytes.size());
  if (record > at - kZip64Locator - kZip64End || !bytes.substr(record).starts_with("PK\6\6")) {
    return std::nullopt;
  }
  return ZipDirectory{.is_long = true,
                      .members = little_endian(bytes, record + 32, 8),
                      .bytes = little_endian(bytes, record + 40, 8),
                      .offset = little_endian(bytes, record + 48, 8),
                      .end = place};
}

[[noreturn]] void refuse_archive(const std::string& file, const std::string& problem,
                                 const std::string& hint = "") {
  throw_failure(file, "cannot read: " + problem, hint);
}

constexpr std::size_t kReadBytes = 1 << 18;

// Reads the next bytes. Returns false at the end, and if `error` says why reading failed.
bool read_block(int descriptor, std::string& block, std::string& error) {
  block.resize(kReadBytes);
  ssize_t size = 0;
  do {
    size = ::read(descriptor, block.data(), block.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) error = system_message(errno);
  block.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return size > 0;
}

void require_tar_end(const std::string& file, const ArchiveEnd& end) {
  const std::size_t size = end.bytes.size();
  if (size >= kTarBlock && is_zero(end.bytes.substr(size - kTarBlock))) return;
  refuse_archive(file, "the archive is truncated: the zeros that end a tar file are missing",
                 "some programs omit them; if nothing else is missing, append 1,024 zero bytes");
}

void require_zip_end(const std::string& file, const ArchiveEnd& end, std::uint64_t members) {
  const std::size_t at = find_zip_end(end.bytes);
  const auto directory = at == std::string_view::npos ? std::nullopt : directory_of(end, at);
  if (!directory) {
    refuse_archive(file, "the archive is damaged: its directory is not at its end");
  }
  const std::uint64_t begin = directory->end - directory->bytes;
  if (begin > directory->offset && begin < end.size) {
    const std::uint64_t before = begin - directory->offset;
    refuse_archive(file,
                   format_counted(static_cast<std::int64_t>(before), "byte") +
                       " before the archive are no part of it",
                   "archives that were joined are given one by one");
  }
  if (begin != directory->offset) {
    refuse_archive(file, "the archive is damaged: its directory is not where it says");
  }
  // Programs that write no zip64 records count modulo this limit.
  const std::uint64_t mask = directory->is_long ? ~std::uint64_t{0} : kMostInShortRecord;
  if ((members & mask) != directory->members) {
    refuse_archive(
        file, fmt::format("the archive is damaged: its directory has {}, and {} were found",
                          format_counted(static_cast<std::int64_t>(directory->members), "member"),
                          members));
  }
}

}  // namespace

// The bytes in a compressed file, stream after stream. Every byte of the file must belong to a
// whole stream with the right checksum, or be a zero after the last stream (tapes are padded with
// zeros).
class ByteSource::CompressedFile {
 public:
  // The caller keeps the descriptor. `begun` holds the bytes that were read from it already.
  CompressedFile(int descriptor, std::string begun, std::unique_ptr<Codec> codec)
      : descriptor_(descriptor),
        codec_(std::move(codec)),
        input_(std::move(begun)),
        pending_(input_),
        output_(kReadBytes, '\0'),
        raw_bytes_(input_.size()) {}

  // The next bytes, valid until the next call. Empty at the end, and if error() says why reading
  // failed.
  std::string_view read();
  const std::string& error() const { return error_; }
  // The command that unpacks an intact file that takes too much memory here, or "".
  const std::string& command() const { return command_; }
  // Bytes taken from the file so far.
  std::uint64_t raw_bytes() const { return raw_bytes_; }

 private:
  int descriptor_;
  std::unique_ptr<Codec> codec_;
  std::string input_;
  std::string_view pending_;  // of the input
  std::string output_;
  std::string error_;
  std::string command_;
  std::uint64_t raw_bytes_ = 0;
  bool first_stream_ = true;
  bool in_stream_ = false;
  bool output_was_full_ = false;  // so that more may come without more input

  // Returns false at the end of the file, and if it cannot be read.
  bool fill() {
    if (!pending_.empty()) return true;
    if (!read_block(descriptor_, input_, error_)) return false;
    raw_bytes_ += input_.size();
    pending_ = input_;
    return true;
  }
  bool begin_stream();
};

// After the end of a stream: another one, or zeros up to the end.
bool ByteSource::CompressedFile::begin_stream() {
  while (fill()) {
    if (first_stream_ || codec_->may_begin(pending_.front())) {
      first_stream_ = false;
      in_stream_ = true;
      codec_->begin();
      return true;
    }
    if (pending_.front() != '\0') {
      error_ = "the compressed data are damaged: something else after their end";
      return false;
    }
    pending_.remove_prefix(1);
  }
  return false;
}

std::string_view ByteSource::CompressedFile::read() {
  if (!error_.empty()) return {};
  for (;;) {
    if (!in_stream_ && !begin_stream()) return {};
    if (!output_was_full_ && !fill()) {
      if (error_.empty()) error_ = "the compressed data are truncated";
      return {};
    }
    const CodecStep step = codec_->step(pending_, output_);
    pending_.remove_prefix(step.taken);
    if (!step.problem.empty()) {
      error_ = step.command.empty() ? "the compressed data are damaged: " : "";
      error_ += step.problem;
      command_ = step.command;
      return {};
    }
    // With input and room for output, every step makes progress. A step without progress would
    // repeat for ever.
    const bool idle = step.taken == 0 && step.made == 0 && !step.ended;
    if (idle && !pending_.empty() && !output_was_full_) {
      error_ = "the compressed data are damaged";
      return {};
    }
    in_stream_ = !step.ended;
    output_was_full_ = in_stream_ && step.made == output_.size();
    if (step.made > 0) return std::string_view(output_).substr(0, step.made);
  }
}

ByteSource::ByteSource(const std::filesystem::path& path, std::string begun)
    : path_(path), begin_(std::move(begun)) {
  if (path == "-") {
    descriptor_ = STDIN_FILENO;
  } else {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      throw_failure(path.string(), "is a directory, not a file");
    }
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) {
      throw_failure(path.string(), "cannot read: " + system_message(errno));
    }
  }
  // The first bytes tell whether the file is compressed, and then whether it is a zip.
  while (begin_.size() < kCodecBegin && fill()) begin_ += block_;
  if (std::unique_ptr<Codec> codec = codec_of(begin_)) {
    compressed_ =
        std::make_unique<CompressedFile>(descriptor_, std::exchange(begin_, {}), std::move(codec));
    begin_ = compressed_->read();
    error_ = compressed_->error();
  } else {
    is_seekable_ = error_.empty() && ::lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  if (begin_.starts_with(kParquetBegin) && error_.empty()) read_as_parquet();
  begins_ = !begin_.empty();
  if (begins_) first_ = begin_.front();
  const bool zip = begin_.starts_with(kZipBegin) || begin_.starts_with("PK\5\6");
  if (zip && !is_seekable_ && error_.empty()) copy();
  if (is_seekable_) begin_.clear();
}

ByteSource::~ByteSource() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

// Returns false at the end of a plain file, and if it cannot be read.
bool ByteSource::fill() {
  const bool any = read_block(parquet_ ? parquet_->pipe() : descriptor_, block_, error_);
  if (parquet_) {
    const off_t place = ::lseek(descriptor_, 0, SEEK_CUR);  // that the child has reached
    if (!is_copy_ && place > 0) raw_bytes_ = static_cast<std::uint64_t>(place);
    if (!any && error_.empty()) error_ = parquet_->problem();
  } else if (!is_copy_) {
    raw_bytes_ += block_.size();
  }
  return any;
}

std::string_view ByteSource::read_once() {
  if (!begin_.empty()) {
    block_ = std::exchange(begin_, {});
    return block_;
  }
  if (!compressed_ || is_copy_) {
    fill();
    return block_;
  }
  const std::string_view bytes = compressed_->read();
  error_ = compressed_->error();
  raw_bytes_ = compressed_->raw_bytes();
  return bytes;
}

std::string_view ByteSource::read() {
  if (!error_.empty()) return {};
  const std::string_view bytes = read_once();
  if (is_seekable_) return bytes;
  size_ += bytes.size();
  if (bytes.size() >= kArchiveEnd) {
    end_ = bytes.substr(bytes.size() - kArchiveEnd);
  } else {
    end_ += bytes;
    if (end_.size() > 2 * kArchiveEnd) end_.erase(0, end_.size() - kArchiveEnd);
  }
  return bytes;
}

void ByteSource::read_as_parquet() {
  if (!is_seekable_) copy();
  begin_.clear();
  if (!error_.empty()) return;
  parquet_ = std::make_unique<ParquetRows>(descriptor_);
  is_seekable_ = false;
  if (fill()) begin_ = block_;
}

// A zip and a Parquet file are read through their directory, which is at the end. A reader from the
// beginning would miss a damaged member of a zip without an error.
void ByteSource::copy() {
  std::error_code error;
  std::string name =
      (std::filesystem::temp_directory_path(error) / "roformer-file-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) throw_failure(name, "cannot write: " + system_message(errno));
  ::unlink(name.c_str());
  for (std::string_view bytes = read(); !bytes.empty(); bytes = read()) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const std::string reason = system_message(errno);
        ::close(file);
        throw_failure(path_.string(),
                      "is a zip or Parquet file read as a stream, but cannot be stored: " + reason,
                      "TMPDIR names another folder");
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  descriptor_ = file;
  is_copy_ = is_seekable_ = ::lseek(file, 0, SEEK_SET) == 0;
}

std::int64_t ByteSource::seek(std::int64_t offset, int whence) {
  const off_t place = ::lseek(descriptor_, offset, whence);
  if (place < 0) error_ = system_message(errno);
  return place;
}

void ByteSource::read_to_end() {
  if (is_seekable_) {
    const std::int64_t length = seek(0, SEEK_END);
    seek(std::max<std::int64_t>(0, length - static_cast<std::int64_t>(kArchiveEnd)), SEEK_SET);
    size_ = static_cast<std::uint64_t>(length);
    end_.clear();
    while (error_.empty() && fill()) end_ += block_;
  } else {
    while (!read().empty()) {
    }
    if (end_.size() > kArchiveEnd) end_.erase(0, end_.size() - kArchiveEnd);
  }
}

bool ByteSource::require_archive_end(const std::string& file, bool is_tar, std::uint64_t members) {
  read_to_end();
  if (!error_.empty()) return false;
  const ArchiveEnd end{.bytes = end_, .size = size_};
  if (is_tar) {
    require_tar_end(file, end);
  } else {
    require_zip_end(file, end, members);
  }
  return true;
}

std::string ByteSource::hint() const {
  if (parquet_) return parquet_->hint();
  const std::string command = compressed_ ? compressed_->command() : "";
  if (command.empty()) return "";
  if (path_ == "-") return fmt::format("pipe it through {} -c", command);
  return fmt::format("unpack it and give the unpacked file: {} {}", command,
                     shell_word(path_.string()));
}

}  // namespace roformer
