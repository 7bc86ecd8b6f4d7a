#include "text/piece_trie.h"

#include <utility>

#include "base/random.h"

namespace roformer {

std::size_t TrieEdges::slot(std::uint64_t key) const {
  const std::size_t mask = edges_.size() - 1;
  std::size_t at = mix(key) & mask;
  while (edges_[at].child != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return at;
}

std::uint32_t TrieEdges::add_child(std::uint32_t node, char32_t symbol) {
  const std::uint64_t key = key_of(node, symbol);
  if (const Edge& found = edges_[slot(key)]; found.child != 0) return found.child;
  if (2 * nodes_ >= edges_.size()) {
    const std::vector<Edge> old = std::exchange(edges_, std::vector<Edge>(edges_.size() * 2));
    for (const Edge& edge : old) {
      if (edge.child != 0) edges_[slot(edge.key)] = edge;
    }
  }
  const auto made = static_cast<std::uint32_t>(nodes_++);
  edges_[slot(key)] = {.key = key, .child = made};
  return made;
}

void PieceTrie::insert(std::string_view piece, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char c : piece) node = edges_.add_child(node, static_cast<unsigned char>(c));
  ids_.resize(edges_.nodes(), -1);
  ids_[node] = id;
}

PieceTrie::Match PieceTrie::longest_prefix(std::string_view text) const {
  Match best;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = edges_.child(node, static_cast<unsigned char>(text[i]));
    if (node == 0) break;
    if (ids_[node] >= 0) best = {.id = ids_[node], .length = i + 1};
  }
  return best;
}

}  // namespace roformer
