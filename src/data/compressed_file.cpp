#include "data/compressed_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

constexpr std::size_t kCompressedBytes = 1 << 18;

}  // namespace

CompressedFile::CompressedFile(int descriptor, std::string begun, std::unique_ptr<Codec> codec)
    : descriptor_(descriptor),
      codec_(std::move(codec)),
      input_(std::move(begun)),
      pending_(input_),
      output_(kCompressedBytes, '\0'),
      raw_bytes_(input_.size()) {}

// False at the end of the file, and where it cannot be read.
bool CompressedFile::fill() {
  if (!pending_.empty()) return true;
  input_.resize(kCompressedBytes);
  ssize_t size = 0;
  do {
    size = ::read(descriptor_, input_.data(), input_.size());
  } while (size < 0 && errno == EINTR);
  if (size < 0) error_ = system_message(errno);
  if (size <= 0) return false;
  raw_bytes_ += static_cast<std::uint64_t>(size);
  pending_ = std::string_view(input_).substr(0, static_cast<std::size_t>(size));
  return true;
}

// After the end of a stream: another one, or zeros up to the end.
bool CompressedFile::begin_stream() {
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

std::string_view CompressedFile::read() {
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
    // With input at hand and room for the output it always goes on, else it would for ever.
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

}  // namespace roformer
