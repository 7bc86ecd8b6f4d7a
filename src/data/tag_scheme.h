// Schemes of tags: how the tags of a sentence mark the parts of an entity. BIO: B-PER begins one,
// I-PER continues it, O is outside. BIOES: also E-PER ends one, and S-PER is one of a single word.
// Plain tags mark none (parts of speech).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/tagging_settings.h"

namespace roformer {

// The distinct tags in the order of a model's outputs: O first, the others sorted by their bytes.
std::vector<std::string> ordered_tags(std::vector<std::string> tags);

// The scheme of these distinct tags, never `automatic`: `wanted` itself if the tags fit it, or if
// it is automatic the scheme that all of them fit. Throws Error (usage) that names `where`, for
// tags of another scheme and of none.
TagScheme scheme_of(const std::vector<std::string>& tags, TagScheme wanted,
                    const std::string& where);

// Changes IOB1 to BIO in one sentence: there B- marks only an entity directly after another of its
// type, here every first word of an entity. Entities stay the same.
void mark_beginnings(std::vector<std::string>& tags);

// How many entities of a sentence begin, and how many of them with I-: more than half in a file in
// IOB1, none in a file in BIO.
struct EntityBeginnings {
  std::int64_t all = 0, inside = 0;
};
EntityBeginnings count_beginnings(const std::vector<std::string>& tags);

// Whether a tag cannot follow the one before it: I- after O or after another type, and in BIOES an
// entity without its end.
bool is_broken(const std::vector<std::string>& tags, TagScheme scheme);

}  // namespace roformer
