// The rotation in a causal model's config.json: base, rotated share and scaling. Reads the form of
// transformers 5 (rope_parameters) and that of earlier releases (rope_theta, rope_scaling). The
// scalings are those of modeling_rope_utils.py.
#pragma once

#include <cstdint>
#include <vector>

#include "config/schemes/rope.h"
#include "interop/config_table.h"

namespace roformer {

// The base of a rotation, above 1; `standard` if the field is missing. Throws Error (failure).
double rotary_base(const JsonFields& fields, const char* name, double standard);

struct RopeDefaults {
  std::int64_t max_positions = 0;  // max_position_embeddings
  double base = 10000;             // if the file does not say
  double fraction = 1;
  bool partial = false;  // partial_rotary_factor gives the rotated share of a head
};
// Throws Error (failure) for an unknown scaling and for values out of range.
RopeSettings parse_rope(const JsonFields& fields, const RopeDefaults& defaults);

// rope_theta and, if the frequencies are scaled, rope_scaling; every release reads both. These
// fields are only written. The scaling must be one of transformers' (rope_scaling_name), and its
// original_length resolved.
std::vector<ConfigField> rope_fields();

// "yarn"; null for a scaling that transformers does not have.
const char* rope_scaling_name(RopeScaling scaling);

}  // namespace roformer
