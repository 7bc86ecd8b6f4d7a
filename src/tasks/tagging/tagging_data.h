// The sentences that a tagger is trained and measured on, and the tags that are its classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/settings.h"
#include "data/tagged_sentences.h"
#include "metrics/entities.h"
#include "tasks/tagging/word_windows.h"

namespace roformer {

// The scheme of a tagger's classes, never `automatic`. Throws Error as scheme_of does.
TagScheme tagging_scheme(const Settings& settings);
// How its tags become entities: BIO as in seqeval's default mode, BIOES as in its strict mode, and
// a plain tag is an entity of one word.
EntityRule entity_rule(TagScheme scheme);

// The settings with tagging.classes, for a new training: where they are not given, the tags of
// data.train.
Settings with_classes(const Settings& settings);

struct TaggedSet {
  std::string file;
  std::vector<TaggedSentence> sentences;  // each with at least one word

  std::int64_t words() const;
};

// All sentences of a file. Changes IOB1 to BIO and says so. Warns of sentences without words and of
// tags that break the scheme. Throws Error as TaggedReader does, for a file without words and for
// tags of another scheme than the settings'.
TaggedSet read_tagged_set(const std::filesystem::path& file, const Settings& settings);

struct TaggedParts {
  TaggedSet training, validation;
};
// data.train and data.validation. If the second is not given, a hash of each sentence's words
// decides whether it is held out: data.validation_fraction of them, a tenth by default. Equal
// sentences are in one part. Throws Error (failure) if a part is empty.
TaggedParts read_tagged_parts(const Settings& settings);
// Only the sentences to validate on.
TaggedSet read_validation_set(const Settings& settings);

// The numbers of a sentence's tags among the classes; -1 for a tag that is none of them.
std::vector<std::int64_t> tag_numbers(const std::vector<std::string>& tags,
                                      const std::vector<std::string>& classes);

// The windows of all sentences, whose words are numbered through the set.
std::vector<WordWindow> windows_of(const std::vector<TaggedSentence>& sentences,
                                   const WordEncoder& encoder);

}  // namespace roformer
