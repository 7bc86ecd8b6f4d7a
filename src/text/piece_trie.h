// A set of byte strings with ids, made for one question: which entry is the longest that the text
// begins with? Edges lie in one open-addressed table, so that a step costs one probe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace roformer {

class PieceTrie {
 public:
  struct Match {
    std::int32_t id = -1;  // -1: no entry fits
    std::size_t length = 0;
  };

  PieceTrie();
  // A later entry with the same text replaces the id of an earlier one.
  void insert(std::string_view piece, std::int32_t id);
  Match longest_prefix(std::string_view text) const;

 private:
  struct Edge {
    std::uint32_t node = kNone;  // the parent; kNone: free
    std::uint32_t child = 0;
    std::uint8_t byte = 0;
  };
  static constexpr std::uint32_t kNone = 0xffffffffU;

  std::vector<std::int32_t> ids_;  // per node, -1 where no entry ends
  std::vector<Edge> edges_;        // a power of two of slots, at most half of them taken

  std::size_t slot(std::uint32_t node, std::uint8_t byte) const;
  void grow();
};

}  // namespace roformer
