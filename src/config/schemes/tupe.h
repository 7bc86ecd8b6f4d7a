// Settings of `tupe`: positions with projections of their own, [CLS] untied (Ke 2021).
#pragma once

#include <cstdint>

namespace roformer {

struct TupeSettings {
  std::int64_t length = 512;
  bool relative = true;  // TUPE-R, else TUPE-A
  bool untie_cls = true;
  bool norm = false;  // LayerNorm of the table, as the authors' code
  double norm_epsilon = 1e-5;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;
};

}  // namespace roformer
