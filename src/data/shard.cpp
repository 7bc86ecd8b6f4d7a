#include "data/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>

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

// Why the header of a file of this size is invalid; "" if it is valid. Bounds the counts of
// documents and tokens by the file's size before it computes with them.
std::string problem_of(const Header& header, std::size_t bytes) {
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return bytes == 0 ? "is empty, not a token shard" : "is not a token shard of this program";
  }
  if (bytes < sizeof header) {
    return fmt::format("is truncated: {} bytes, wanted at least the header's {}", bytes,
                       sizeof header);
  }
  if (header.version != kShardVersion && header.version != kWithoutBlocks) {
    return fmt::format("has version {}, this program reads versions {} and {}", header.version,
                       kWithoutBlocks, kShardVersion);
  }
  if (header.header_checksum != header_checksum(header)) {
    return "is damaged: the header does not fit its checksum";
  }
  if (header.vocabulary_size == 0 || header.vocabulary_size > kMostTokens) {
    return fmt::format("claims a vocabulary of {} entries", header.vocabulary_size);
  }
  if (header.id_bytes != id_bytes(header.vocabulary_size)) {
    return fmt::format("claims {} bytes an id, wanted {} for a vocabulary of {}", header.id_bytes,
                       id_bytes(header.vocabulary_size), header.vocabulary_size);
  }
  const std::uint64_t payload = bytes - sizeof header;
  if (header.tokens > payload / header.id_bytes || header.documents > payload / 8 ||
      header.documents > header.tokens) {
    return fmt::format("is truncated: {} bytes cannot hold the {} tokens and {} documents claimed",
                       bytes, header.tokens, header.documents);
  }
  return "";
}

// Where the parts begin, in bytes after the header; the ids begin at 0.
struct Layout {
  std::uint64_t index = 0;
  std::uint64_t checksums = 0;
  std::uint64_t end = 0;
  std::uint64_t blocks = 0;  // number of checksums
};

Layout layout_of(const Header& header) {
  const std::uint64_t ids = header.tokens * header.id_bytes;
  Layout layout{.index = ids + padding_after_ids(ids)};
  layout.checksums = layout.index + (header.documents + 1) * sizeof(std::uint64_t);
  if (header.version != kWithoutBlocks) {
    layout.blocks = (layout.checksums + kChecksumBytes - 1) / kChecksumBytes;
  }
  layout.end = layout.checksums + layout.blocks * sizeof(std::uint64_t);
  return layout;
}

}  // namespace

ShardVocabulary vocabulary_of(const Tokenizer& tokenizer) {
  return {.size = static_cast<std::uint64_t>(tokenizer.vocabulary_size()),
          .fingerprint = tokenizer.fingerprint()};
}

ShardWriter::ShardWriter(const std::filesystem::path& path, ShardVocabulary vocabulary)
    : file_(path), vocabulary_(vocabulary) {
  ROFORMER_ASSERT(vocabulary.size > 0 && vocabulary.size <= kMostTokens);
  const Header empty{};
  file_.write(&empty, sizeof empty);
}

void ShardWriter::write_payload(const void* data, std::size_t bytes) {
  file_.write(data, bytes);
  const auto* rest = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kChecksumBytes - in_block_);
    hash_.update(rest, part);
    in_block_ += part;
    rest += part;
    bytes -= part;
    if (in_block_ == kChecksumBytes) end_block();
  }
}

void ShardWriter::end_block() {
  blocks_.push_back(hash_.digest());
  hash_.reset();
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
  if (const std::string problem = problem_of(header, bytes.size()); !problem.empty()) {
    refuse(problem);
  }
  const Layout layout = layout_of(header);
  if (const std::uint64_t wanted = layout.end; bytes.size() - sizeof header != wanted) {
    refuse(fmt::format(
        "{}: {} bytes, wanted {}",
        bytes.size() - sizeof header < wanted ? "is truncated" : "has bytes after its end",
        bytes.size(), wanted + sizeof header));
  }
  vocabulary_ = {.size = header.vocabulary_size, .fingerprint = header.tokenizer_fingerprint};
  tokens_ = header.tokens;
  checksum_ = header.payload_checksum;
  id_bytes_ = header.id_bytes;
  ids_ = bytes.data() + sizeof header;
  index_ = {reinterpret_cast<const std::uint64_t*>(ids_ + layout.index), header.documents + 1};
  payload_ = bytes.subspan(sizeof header, layout.checksums);
  const bool has_blocks = header.version != kWithoutBlocks;
  if (has_blocks) {
    block_bytes_ = kChecksumBytes;
    block_checksums_ = {reinterpret_cast<const std::uint64_t*>(ids_ + layout.checksums),
                        layout.blocks};
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
  if (has_blocks) compare_blocks(layout.index, layout.checksums, false);
  const bool rises = index_.front() == 0 && index_.back() == tokens_ &&
                     std::ranges::adjacent_find(index_, std::greater_equal{}) == index_.end();
  if (!rises) refuse("is damaged: its document index does not rise from 0 to the token count");
}

void Shard::require(const ShardVocabulary& vocabulary, std::uint64_t checksum) const {
  if (vocabulary_ != vocabulary) {
    throw_failure(path_.string(), "was made with another tokenizer than the data set's",
                  kPrepareAgain);
  }
  if (checksum_ != checksum) {
    throw_failure(path_.string(), "does not belong to this data set", kPrepareAgain);
  }
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
