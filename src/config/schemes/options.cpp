#include "config/schemes/options.h"

namespace roformer {

RowText wavelength_base() {
  return {.range = above(1),
          .help = "wavelengths grow from 2 pi to 2 pi times this (Vaswani 2017: 10000)"};
}

RowText table_length() {
  return {.unit = "tokens",
          .range = between(1, kLongest),
          .help = "rows of the table; longer sequences are refused"};
}

RowText bucket_count() {
  return {.unit = "buckets",
          .range = between(2, kLongest),
          .help = "distances share this many values (Raffel 2020: 32)"};
}

RowText bucket_distance() {
  return {.unit = "tokens",
          .range = between(2, kLongest),
          .help = "from here on all distances share the last bucket (128)"};
}

RowText rotary_layout(const char* default_of) {
  return {.help = std::string("pairs of neighbours (interleaved: RoFormer, GPT-J, Llama's own "
                              "code) or of halves (half: GPT-NeoX, Hugging Face's Llama); ") +
                  default_of};
}

}  // namespace roformer
