// The rotation of a causal model's config.json: base, rotated share and scaling, as transformers 5
// writes them (rope_parameters) and as the releases before it did (rope_theta, rope_scaling). The
// scalings are those of modeling_rope_utils.py.
#pragma once

#include <cstdint>
#include <vector>

#include "config/schemes/rope.h"
#include "interop/config_table.h"

namespace roformer {

// The base of a rotation, above 1; `standard` where the field is not there. Throws Error (failure).
double rotary_base(const JsonFields& fields, const char* name, double standard);

struct RopeDefaults {
  std::int64_t max_positions = 0;  // max_position_embeddings
  double base = 10000;             // where the file does not say
  double fraction = 1;
  bool partial = false;  // the family rotates a part of a head where partial_rotary_factor says so
};
// Throws Error (failure) for a scaling that this program does not have and for values out of range.
RopeSettings parse_rope(const JsonFields& fields, const RopeDefaults& defaults);

// rope_theta and, where the frequencies are scaled, rope_scaling, which every release reads.
// Written only: the scaling is one of transformers' (rope_scaling_name), its original_length is
// resolved.
std::vector<ConfigField> rope_fields();

// "yarn"; null for a scaling that transformers does not have.
const char* rope_scaling_name(RopeScaling scaling);

}  // namespace roformer
