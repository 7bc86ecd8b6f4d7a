// A shard: the token ids of many documents in one file that is mapped into memory. After a header
// of 64 bytes come the ids (16 bits each where the vocabulary allows, else 32), zeros up to a
// multiple of 8 bytes, the document index (where each document begins, and the end), and the XXH3
// of every 64 KiB of ids and index. All numbers are little-endian.
//
//   offset  0  "RFSHARD\n"
//           8  u32 version (2)            12  u32 bytes of an id (2 or 4)
//          16  u64 vocabulary size        24  u64 tokens
//          32  u64 documents              40  u64 fingerprint of the tokenizer
//          48  u64 XXH3 of the blocks' checksums
//          56  u64 XXH3 of the 56 bytes before
//
// Version 1 has no checksums of blocks; that in its header is of everything after the header.
#pragma once

#include <xxhash.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "text/tokenizer.h"

namespace roformer {

// The hint for files of a data set that do not belong together.
inline constexpr const char* kPrepareAgain = "prepare the data again: roformer data prepare";

// XXH3 of bytes that arrive in parts.
class RunningHash {
 public:
  RunningHash() : state_(XXH3_createState()) { reset(); }
  void reset() { XXH3_64bits_reset(state_.get()); }
  void update(const void* data, std::size_t bytes) {
    XXH3_64bits_update(state_.get(), data, bytes);
  }
  void update(std::string_view text) { update(text.data(), text.size()); }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

struct ShardVocabulary {
  std::uint64_t size = 0;
  std::uint64_t fingerprint = 0;  // of the tokenizer

  bool operator==(const ShardVocabulary&) const = default;
};
ShardVocabulary vocabulary_of(const Tokenizer& tokenizer);

// Writes one shard. Without finish() no file is left.
class ShardWriter {
 public:
  ShardWriter(const std::filesystem::path& path, ShardVocabulary vocabulary);

  void add_tokens(std::span<const TokenId> ids);
  // Ends the document of the tokens added since the last call. There must be at least one.
  void end_document();
  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t documents() const { return document_starts_.size() - 1; }
  // Completes the file and returns its payload's checksum.
  std::uint64_t finish();

 private:
  AtomicFile file_;
  ShardVocabulary vocabulary_;
  RunningHash hash_;                   // of the unfinished block
  std::size_t in_block_ = 0;           // bytes
  std::vector<std::uint64_t> blocks_;  // checksums of the finished ones
  std::uint64_t tokens_ = 0;
  std::vector<std::uint64_t> document_starts_{0};
  std::vector<std::uint16_t> narrow_;

  void write_payload(const void* data, std::size_t bytes);
  void end_block();
};

// Reads one shard, from any number of threads. Opening checks every field of the header against the
// file's size, and the document index. Each block of ids is checked when it is first read.
class Shard {
 public:
  // Throws Error (failure) naming the file if it is truncated, damaged or no shard.
  explicit Shard(const std::filesystem::path& path);
  // Throws Error (failure) if the shard was made with another tokenizer or has another checksum.
  void require(const ShardVocabulary& vocabulary, std::uint64_t checksum) const;

  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t documents() const { return index_.size() - 1; }
  const ShardVocabulary& vocabulary() const { return vocabulary_; }
  std::uint64_t checksum() const { return checksum_; }
  // First token of each document, and the number of tokens at the end: [documents + 1].
  std::span<const std::uint64_t> document_starts() const { return index_; }
  // Copies tokens first .. first + out.size() - 1. Throws Error naming the block if the file does
  // not hold the bytes that were written.
  void copy_tokens(std::uint64_t first, std::span<TokenId> out) const;
  // Reads the whole file. Throws Error if it differs from the bytes that were written.
  void verify_checksum() const;

 private:
  std::filesystem::path path_;
  MappedFile file_;
  ShardVocabulary vocabulary_;
  std::uint64_t tokens_ = 0;
  std::uint64_t checksum_ = 0;
  std::uint32_t id_bytes_ = 0;
  const std::byte* ids_ = nullptr;
  std::span<const std::uint64_t> index_;
  std::span<const std::byte> payload_;              // ids and index
  std::span<const std::uint64_t> block_checksums_;  // one of the whole payload in version 1
  std::size_t block_bytes_ = 0;
  // Which blocks were compared. Two threads may compare the same one.
  std::unique_ptr<std::atomic<bool>[]> compared_;

  // Compares bytes [begin, end) of the payload.
  void compare_blocks(std::size_t begin, std::size_t end, bool again) const;
};

}  // namespace roformer
