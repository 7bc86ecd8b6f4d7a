// Tries of byte strings, words and n-grams. All edges of a trie are in one open-addressed table, so
// that a step costs one probe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace roformer {

// The nodes of a trie: numbers from 0, the root, on.
class TrieEdges {
 public:
  // The child of the node by the symbol; 0: there is none.
  std::uint32_t child(std::uint32_t node, char32_t symbol) const {
    return edges_[slot(key_of(node, symbol))].child;
  }
  std::uint32_t add_child(std::uint32_t node, char32_t symbol);
  std::size_t nodes() const { return nodes_; }
  void clear();  // keeps its memory

 private:
  struct Edge {
    std::uint64_t key = 0;
    std::uint32_t child = 0;  // 0: free
  };
  std::vector<Edge> edges_ = std::vector<Edge>(1024);  // a power of two, at most half of them taken
  std::size_t nodes_ = 1;

  static std::uint64_t key_of(std::uint32_t node, char32_t symbol) {
    return static_cast<std::uint64_t>(node) << 32 | symbol;
  }
  // The slot of the edge, or the slot where it would be put.
  std::size_t slot(std::uint64_t key) const;
};

// A set of byte strings with ids. It finds the entries with which a text begins.
class PieceTrie {
 public:
  struct Match {
    std::int32_t id = -1;  // -1: no entry fits
    std::size_t length = 0;
  };

  // A later entry with the same text replaces the id of an earlier one.
  void insert(std::string_view piece, std::int32_t id);
  Match longest_prefix(std::string_view text) const;
  // Calls action(id, length) for each entry with which the text begins, the shortest first.
  template <class Action>
  void for_each_prefix(std::string_view text, Action action) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = edges_.child(node, static_cast<unsigned char>(text[i]));
      if (node == 0) return;
      if (ids_[node] >= 0) action(ids_[node], i + 1);
    }
  }

 private:
  TrieEdges edges_;
  std::vector<std::int32_t> ids_ = {-1};  // by node, -1 if no entry ends there
};

}  // namespace roformer
