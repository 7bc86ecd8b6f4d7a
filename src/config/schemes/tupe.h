// Settings of `tupe`: separate projections for positions, with [CLS] untied (Ke 2021).
#pragma once

#include <cstdint>

namespace roformer {

struct TupeSettings {
  std::int64_t length = 512;
  bool relative = true;  // TUPE-R; false: TUPE-A
  bool untie_cls = true;
  bool norm = false;  // LayerNorm of the table, as in the authors' code
  double norm_epsilon = 1e-5;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
};

}  // namespace roformer
