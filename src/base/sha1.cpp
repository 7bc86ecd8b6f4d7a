#include "base/sha1.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>

namespace roformer {
namespace {

constexpr std::size_t kSha1Block = 64;

}  // namespace

void Sha1::update(std::string_view bytes) {
  bytes_ += bytes.size();
  if (!pending_.empty()) {
    const std::string_view rest = bytes.substr(0, kSha1Block - pending_.size());
    pending_ += rest;
    bytes.remove_prefix(rest.size());
    if (pending_.size() < kSha1Block) return;
    take_block(reinterpret_cast<const unsigned char*>(pending_.data()));
    pending_.clear();
  }
  for (; bytes.size() >= kSha1Block; bytes.remove_prefix(kSha1Block)) {
    take_block(reinterpret_cast<const unsigned char*>(bytes.data()));
  }
  pending_ = bytes;
}

std::string Sha1::finish() {
  const std::uint64_t bits = bytes_ * 8;
  std::string end(1, '\x80');
  while ((pending_.size() + end.size()) % kSha1Block != kSha1Block - 8) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(bits >> shift & 0xff);
  update(end);
  return fmt::format("{:08x}{:08x}{:08x}{:08x}{:08x}", state_[0], state_[1], state_[2], state_[3],
                     state_[4]);
}

// FIPS 180-4, section 6.1.2.
void Sha1::take_block(const unsigned char* block) {
  std::array<std::uint32_t, 80> words{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t byte = 0; byte < 4; ++byte) words[i] = words[i] << 8 | block[4 * i + byte];
  }
  for (std::size_t i = 16; i < words.size(); ++i) {
    words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  auto [a, b, c, d, e] = state_;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint32_t mixed = 0, constant = 0;
    if (i < 20) {
      mixed = (b & c) | (~b & d), constant = 0x5a827999;
    } else if (i < 40) {
      mixed = b ^ c ^ d, constant = 0x6ed9eba1;
    } else if (i < 60) {
      mixed = (b & c) | (b & d) | (c & d), constant = 0x8f1bbcdc;
    } else {
      mixed = b ^ c ^ d, constant = 0xca62c1d6;
    }
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
    e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
  }
  state_[0] += a, state_[1] += b, state_[2] += c, state_[3] += d, state_[4] += e;
}

}  // namespace roformer
