#include "data/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace roformer {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are little-endian");

constexpr char kMagic[8] = {'R', 'F', 'S', 'H', 'A', 'R', 'D', '\n'};
constexpr std::uint32_t kShardVersion = 2;
constexpr std::uint32_t kWithoutBlocks = 1;
constexpr std::size_t kChecksumBytes = 1 << 16;
constexpr std::uint64_t kNarrowVocabulary = 65536;
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 31;

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t id_bytes;
  std::uint64_t vocabulary_size;
  std::uint64_t tokens;
  std::uint64_t documents;
  std::uint64_t tokenizer_fingerprint;
  std::uint64_t payload_checksum;
  std::uint64_t header_checksum;
};
static_assert(sizeof(Header) == 64);

std::uint64_t header_checksum(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, header_checksum));
}

std::uint32_t id_bytes(std::uint64_t vocabulary_size) {
  return vocabulary_size <= kNarrowVocabulary ? 2 : 4;
}

std::uint64_t padding_after_ids(std::uint64_t bytes) {
  return (8 - bytes % 8) % 8;
}

}  // namespace

ShardWriter::ShardWriter(const std::filesystem::path& path, ShardVocabulary vocabulary)
    : file_(path), vocabulary_(vocabulary), hash_(XXH3_createState()) {
  ROFORMER_ASSERT(vocabulary.size > 0 && vocabulary.size <= kMostTokens);
  XXH3_64bits_reset(hash_.get());
  const Header empty{};
  file_.write(&empty, sizeof empty);
}

void ShardWriter::write_payload(const void* data, std::size_t bytes) {
  file_.write(data, bytes);
  const auto* rest = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kChecksumBytes - in_block_);
    XXH3_64bits_update(hash_.get(), rest, part);
    in_block_ += part;
    rest += part;
    bytes -= part;
    if (in_block_ == kChecksumBytes) end_block();
  }
}

void ShardWriter::end_block() {
  blocks_.push_back(XXH3_64bits_digest(hash_.get()));
  XXH3_64bits_reset(hash_.get());
  in_block_ = 0;
}

void ShardWriter::add_tokens(std::span<const TokenId> ids) {
  for (const TokenId id : ids) {
    ROFORMER_ASSERT(id >= 0 && static_cast<std::uint64_t>(id) < vocabulary_.size);
  }
  if (id_bytes(vocabulary_.size) == 2) {
    narrow_.assign(ids.begin(), ids.end());
    write_payload(narrow_.data(), narrow_.size() * sizeof(std::uint16_t));
  } else {
    write_payload(ids.data(), ids.size_bytes());
  }
  tokens_ += ids.size();
}

void ShardWriter::end_document() {
  ROFORMER_ASSERT(tokens_ > document_starts_.back());
  document_starts_.push_back(tokens_);
}

std::uint64_t ShardWriter::finish() {
  ROFORMER_ASSERT(document_starts_.back() == tokens_);
  const std::uint64_t zero = 0;
  write_payload(&zero, padding_after_ids(tokens_ * id_bytes(vocabulary_.size)));
  write_payload(document_starts_.data(), document_starts_.size() * sizeof(std::uint64_t));
  if (in_block_ > 0) end_block();
  file_.write(blocks_.data(), blocks_.size() * sizeof(std::uint64_t));
  Header header{
      .magic = {},
      .version = kShardVersion,
      .id_bytes = id_bytes(vocabulary_.size),
      .vocabulary_size = vocabulary_.size,
      .tokens = tokens_,
      .documents = documents(),
      .tokenizer_fingerprint = vocabulary_.fingerprint,
      .payload_checksum = XXH3_64bits(blocks_.data(), blocks_.size() * sizeof(std::uint64_t)),
      .header_checksum = 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.header_checksum = header_checksum(header);
  file_.write_at(0, &header, sizeof header);
  file_.commit();
  return header.payload_checksum;
}

Shard::Shard(const std::filesystem::path& path) : path_(path), file_(path) {
  const auto refuse = [&](const std::string& message) {
    throw_failure(path_.string(), message, kPrepareAgain);
  };
  const std::span<const std::byte> bytes = file_.bytes();
  Header header{};
  const auto begin = bytes.first(std::min(bytes.size(), sizeof header));
  std::ranges::copy(begin, std::as_writable_bytes(std::span(&header, 1)).begin());
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    refuse(bytes.empty() ? "is empty, not a token shard" : "is not a token shard of this program");
  }
  if (bytes.size() < sizeof header) {
    refuse(fmt::format("is truncated: {} bytes, wanted at least the header's {}", bytes.size(),
                       sizeof header));
  }
  if (header.version != kShardVersion && header.version != kWithoutBlocks) {
    refuse(fmt::format("has version {}, this program reads versions {} and {}", header.version,
                       kWithoutBlocks, kShardVersion));
  }
  if (header.header_checksum != header_checksum(header)) {
    refuse("is damaged: the header does not fit its checksum");
  }
  if (header.vocabulary_size == 0 || header.vocabulary_size > kMostTokens) {
    refuse(fmt::format("claims a vocabulary of {} entries", header.vocabulary_size));
  }
  if (header.id_bytes != id_bytes(header.vocabulary_size)) {
    refuse(fmt::format("claims {} bytes an id, wanted {} for a vocabulary of {}", header.id_bytes,
                       id_bytes(header.vocabulary_size), header.vocabulary_size));
  }
  // The counts are bounded by the file before anything is computed from them.
  const std::uint64_t payload = bytes.size() - sizeof header;
  if (header.tokens > payload / header.id_bytes || header.documents > payload / 8 ||
      header.documents > header.tokens) {
    refuse(fmt::format("is truncated: {} bytes cannot hold the {} tokens and {} documents claimed",
                       bytes.size(), header.tokens, header.documents));
  }
  const std::uint64_t id_part = header.tokens * header.id_bytes;
  const std::uint64_t index_begin = id_part + padding_after_ids(id_part);
  const std::uint64_t index_end = index_begin + (header.documents + 1) * sizeof(std::uint64_t);
  const bool has_blocks = header.version != kWithoutBlocks;
  const std::uint64_t blocks = has_blocks ? (index_end + kChecksumBytes - 1) / kChecksumBytes : 0;
  const std::uint64_t wanted = index_end + blocks * sizeof(std::uint64_t);
  if (payload != wanted) {
    refuse(fmt::format("{}: {} bytes, wanted {}",
                       payload < wanted ? "is truncated" : "has bytes after its end", bytes.size(),
                       wanted + sizeof header));
  }
  vocabulary_ = {.size = header.vocabulary_size, .fingerprint = header.tokenizer_fingerprint};
  tokens_ = header.tokens;
  checksum_ = header.payload_checksum;
  id_bytes_ = header.id_bytes;
  ids_ = bytes.data() + sizeof header;
  index_ = {reinterpret_cast<const std::uint64_t*>(ids_ + index_begin), header.documents + 1};
  payload_ = bytes.subspan(sizeof header, index_end);
  if (has_blocks) {
    block_bytes_ = kChecksumBytes;
    block_checksums_ = {reinterpret_cast<const std::uint64_t*>(ids_ + index_end), blocks};
    if (XXH3_64bits(block_checksums_.data(), block_checksums_.size_bytes()) != checksum_) {
      refuse("is damaged: the checksums of its blocks do not fit theirs");
    }
  } else {
    block_bytes_ = payload_.size();
    block_checksums_ = {
        reinterpret_cast<const std::uint64_t*>(bytes.data() + offsetof(Header, payload_checksum)),
        1};
  }
  compared_ = std::make_unique<std::atomic<bool>[]>(block_checksums_.size());
  if (has_blocks) compare_blocks(index_begin, index_end, false);
  bool rising = index_.front() == 0 && index_.back() == tokens_;
  for (std::size_t i = 1; rising && i < index_.size(); ++i) rising = index_[i - 1] < index_[i];
  if (!rising) refuse("is damaged: its document index does not rise from 0 to the token count");
}

void Shard::copy_tokens(std::uint64_t first, std::span<TokenId> out) const {
  ROFORMER_ASSERT(first <= tokens_ && out.size() <= tokens_ - first);
  compare_blocks(first * id_bytes_, (first + out.size()) * id_bytes_, false);
  if (id_bytes_ == 2) {
    const auto* const ids = reinterpret_cast<const std::uint16_t*>(ids_) + first;
    std::copy(ids, ids + out.size(), out.begin());
  } else {
    const auto* const ids = reinterpret_cast<const TokenId*>(ids_) + first;
    std::copy(ids, ids + out.size(), out.begin());
  }
  for (const TokenId id : out) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= vocabulary_.size) {
      throw_failure(path_.string(),
                    fmt::format("is damaged: token {} in a vocabulary of {}", id, vocabulary_.size),
                    kPrepareAgain);
    }
  }
}

void Shard::verify_checksum() const {
  compare_blocks(0, payload_.size(), true);
}

void Shard::compare_blocks(std::size_t begin, std::size_t end, bool again) const {
  if (begin == end) return;
  for (std::size_t block = begin / block_bytes_; block <= (end - 1) / block_bytes_; ++block) {
    if (!again && compared_[block].load(std::memory_order_relaxed)) continue;
    const std::size_t start = block * block_bytes_;
    const auto bytes = payload_.subspan(start, std::min(block_bytes_, payload_.size() - start));
    if (XXH3_64bits(bytes.data(), bytes.size()) != block_checksums_[block]) {
      throw_failure(path_.string(),
                    fmt::format("is damaged: block {} of {} (bytes {} to {} of the file) does not "
                                "fit its checksum",
                                block + 1, block_checksums_.size(), sizeof(Header) + start,
                                sizeof(Header) + start + bytes.size() - 1),
                    kPrepareAgain);
    }
    compared_[block].store(true, std::memory_order_relaxed);
  }
}

}  // namespace roformer
