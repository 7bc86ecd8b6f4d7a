// Probes of length: small questions with one right answer, made on the fly in any size. They show
// whether a model has learned a rule or only the lengths it was trained on (as Kazemnejad 2023 asks
// of positional schemes). A text is the question, "=", the answer and a line end. Recall asks for
// every value at once (Arora 2023, arXiv 2312.04927): its answer is the pairs in another order,
// with the keys given.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/probe_settings.h"

namespace roformer {

struct ProbeText {
  std::string text;
  // The ascending positions of the answer: the answer with its line end, or only the values for
  // recall.
  std::vector<std::size_t> targets;
};

// Characters of every text of this kind and size. The size is that of the question: letters to copy
// or to hide a key in, digits of a summand, pairs of brackets, pairs of key and value.
std::int64_t probe_length(ProbeKind kind, std::int64_t size);
// The largest size whose texts have at most `length` characters; 0 if no size does.
std::int64_t probe_size(ProbeKind kind, std::int64_t length);

// The largest size of questions: recall has no more pairs than keys, the others are unlimited.
std::int64_t largest_probe(ProbeKind kind);
// Characters of the longest text; empty if the size is unlimited.
std::optional<std::int64_t> longest_probe(ProbeKind kind);

// Changes whenever the questions of this kind change.
std::uint64_t probe_fingerprint(ProbeKind kind);

// A function of its arguments; size in [1, largest_probe()].
ProbeText make_probe(ProbeKind kind, std::int64_t size, std::uint64_t key);

}  // namespace roformer
