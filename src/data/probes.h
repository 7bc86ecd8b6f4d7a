// Probes of length: small questions with one right answer, made on the fly in any size, that show
// whether a model has learned a rule or the lengths it was trained on (as Kazemnejad 2023 asks of
// positional schemes). A text is the question, "=" and the answer, which a line end closes.
#pragma once

#include <cstdint>
#include <string>

#include "config/probe_settings.h"

namespace roformer {

struct ProbeText {
  std::string text;
  std::size_t answer = 0;  // where it begins, behind "="
};

// Characters of every text of this kind and size. The size is that of the question: letters to copy
// or to hide a key in, digits of a summand, pairs of brackets, pairs of key and value.
std::int64_t probe_length(ProbeKind kind, std::int64_t size);
// The largest size whose texts have at most so many characters; 0: not even the smallest.
std::int64_t probe_size(ProbeKind kind, std::int64_t length);

// A function of its arguments; size >= 1.
ProbeText make_probe(ProbeKind kind, std::int64_t size, std::uint64_t key);

}  // namespace roformer
