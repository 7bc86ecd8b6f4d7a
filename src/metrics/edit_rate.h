// The edits that translation edit rate counts, in symbols that stand for words.
#pragma once

#include <cstdint>
#include <string_view>

namespace roformer {

// Edits that turn the hypothesis into the reference: shifts of up to ten words, each taken because
// it shortens the edit distance the most, and then the distance. Greedy, and within a beam around
// the diagonal, so an upper bound; equal to sacreBLEU's translation_edit_rate.
std::int64_t count_edits(std::u32string_view hypothesis, std::u32string_view reference);

}  // namespace roformer
