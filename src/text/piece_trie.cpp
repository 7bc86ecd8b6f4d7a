#include "text/piece_trie.h"

#include "base/random.h"

namespace roformer {

PieceTrie::PieceTrie() : ids_(1, -1), edges_(1024) {}

// Where the edge is, or where it would be put.
std::size_t PieceTrie::slot(std::uint32_t node, std::uint8_t byte) const {
  const std::size_t mask = edges_.size() - 1;
  std::size_t index = mix(static_cast<std::uint64_t>(node) << 8 | byte) & mask;
  while (edges_[index].node != kNone &&
         (edges_[index].node != node || edges_[index].byte != byte)) {
    index = (index + 1) & mask;
  }
  return index;
}

void PieceTrie::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge& edge : old) {
    if (edge.node != kNone) edges_[slot(edge.node, edge.byte)] = edge;
  }
}

void PieceTrie::insert(std::string_view piece, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char c : piece) {
    const auto byte = static_cast<std::uint8_t>(c);
    std::size_t index = slot(node, byte);
    if (edges_[index].node == kNone) {
      if (ids_.size() * 2 > edges_.size()) {
        grow();
        index = slot(node, byte);
      }
      edges_[index] = {
          .node = node, .child = static_cast<std::uint32_t>(ids_.size()), .byte = byte};
      ids_.push_back(-1);
    }
    node = edges_[index].child;
  }
  ids_[node] = id;
}

PieceTrie::Match PieceTrie::longest_prefix(std::string_view text) const {
  Match best;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const Edge& edge = edges_[slot(node, static_cast<std::uint8_t>(text[i]))];
    if (edge.node == kNone) break;
    node = edge.child;
    if (ids_[node] >= 0) best = {.id = ids_[node], .length = i + 1};
  }
  return best;
}

}  // namespace roformer
