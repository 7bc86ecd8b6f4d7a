// Which tensors of a causal language model of Hugging Face's are which parameter of this program:
// the one table that import and export share. Names here are without the "model." or "gpt_neox."
// that stands before those behind the language head.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "interop/causal_config.h"

namespace roformer {

struct CausalWeight {
  struct Part {
    std::string theirs;
    std::int64_t rows = 0;
  };
  std::string ours;
  std::vector<Part> parts;   // one behind the other in ours
  std::int64_t columns = 0;  // 0: a vector
  // GPT-NeoX keeps query, key and value of a head together: [H, 3, D] rows where ours are [3, H,
  // D].
  bool head_by_head = false;
  // Rows of queries and keys, which a rotation of neighbours has in another order than halves.
  std::int64_t rotated_heads = 0;  // the first so many blocks of rows, one a head; 0: none

  std::vector<std::int64_t> shape(const Part& part) const {
    return columns == 0 ? std::vector<std::int64_t>{part.rows}
                        : std::vector<std::int64_t>{part.rows, columns};
  }
};
std::vector<CausalWeight> causal_weights(const Settings& settings, CausalFamily family);

// The family's prefix where it belongs, and without it.
std::string with_causal_prefix(const std::string& canonical, CausalFamily family);
std::function<std::string(const std::string& name)> canonical_causal_names(CausalFamily family);

// Rows [3H * D, ...] between GPT-NeoX's order and ours.
at::Tensor heads_apart(const at::Tensor& theirs, std::int64_t heads);
at::Tensor heads_together(const at::Tensor& ours, std::int64_t heads);

// Rows of the first `heads` blocks of `head_width` in the order in which a rotation of halves gives
// the scores that one of neighbours gave: `rotated` features of each block are in pairs.
at::Tensor neighbours_to_halves(const at::Tensor& rows, std::int64_t heads, std::int64_t head_width,
                                std::int64_t rotated);

}  // namespace roformer
