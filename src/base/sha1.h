// SHA-1, to recognise files by the hash that their publishers give. It protects against damage and
// mistakes, not against attackers. This program has its own because it needs no cryptographic
// library for anything else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

class Sha1 {
 public:
  void update(std::string_view bytes);
  // Ends the computation and returns the hash of all bytes as 40 hexadecimal digits.
  std::string finish();

 private:
  std::array<std::uint32_t, 5> state_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  std::string pending_;  // less than a block of 64 bytes
  std::uint64_t bytes_ = 0;

  void take_block(const unsigned char* block);
};

}  // namespace roformer
