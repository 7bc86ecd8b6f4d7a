#include "tasks/tagging/tagging_data.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/log.h"
#include "base/progress.h"
#include "config/words.h"
#include "data/tag_scheme.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kFewClasses = 6;

TaggedSet read_sentences(const fs::path& file, const Settings& settings) {
  TaggedReader reader(file, {.tokens = settings.tagging.tokens,
                             .tags = settings.tagging.tags,
                             .classes = settings.tagging.classes});
  TaggedSet set{.file = file.string()};
  std::int64_t empty = 0;
  for (TaggedLines lines; reader.next(lines);) {
    if (!lines.sentence.words.empty()) {
      set.sentences.push_back(std::move(lines.sentence));
    } else if (reader.format() == TaggedFormat::jsonl) {
      ++empty;
    }
  }
  reader.lines().warn_of_replaced();
  if (empty > 0) log::warn("{}: {} sentences without words are left out", set.file, empty);
  if (set.sentences.empty()) throw_failure(set.file, "has no words");
  if (reader.has_numbers()) {
    log::info("{}: its tags are numbers, read as tagging.classes in their order: {}", set.file,
              few_of(settings.tagging.classes, kFewClasses));
  }
  return set;
}

std::vector<std::string> tags_in(const TaggedSet& set) {
  std::set<std::string> tags;
  for (const TaggedSentence& sentence : set.sentences) {
    tags.insert(sentence.tags.begin(), sentence.tags.end());
  }
  return ordered_tags({tags.begin(), tags.end()});
}

// Changes the tags to BIO if more than half of the entities begin as in IOB1.
void convert_iob1(TaggedSet& set) {
  EntityBeginnings total;
  for (const TaggedSentence& sentence : set.sentences) {
    const EntityBeginnings counts = count_beginnings(sentence.tags);
    total.all += counts.all;
    total.inside += counts.inside;
  }
  if (2 * total.inside <= total.all) return;
  log::info(
      "{}: {} of {} entities begin with I-, as in IOB1: their first words get B-, which leaves the "
      "entities as they are",
      set.file, format_count(total.inside), format_count(total.all));
  for (TaggedSentence& sentence : set.sentences) mark_beginnings(sentence.tags);
}

void warn_of_broken(const TaggedSet& set, TagScheme scheme) {
  std::int64_t broken = 0, line = 0;
  for (const TaggedSentence& sentence : set.sentences) {
    if (!is_broken(sentence.tags, scheme)) continue;
    if (broken++ == 0) line = sentence.line;
  }
  if (broken == 0) return;
  log::warn("{}: {} of {} sentences have tags that break {}, the first at line {}; {}", set.file,
            format_count(broken), format_count(std::ssize(set.sentences)), to_word(scheme), line,
            scheme == TagScheme::bio ? "an I- that continues no entity begins one"
                                     : "an entity without its beginning or end counts as none");
}

// Brings the tags into the scheme's form, but leaves those of a model whose classes have no B-.
// Throws Error (usage) for tags of another scheme.
void fit_scheme(TaggedSet& set, const Settings& settings) {
  const TagScheme scheme = scheme_of(tags_in(set), tagging_scheme(settings), set.file);
  if (scheme == TagScheme::bio) {
    const bool marks_beginnings = std::ranges::any_of(
        settings.tagging.classes, [](const std::string& tag) { return tag.starts_with("B-"); });
    if (!marks_beginnings) return;
    convert_iob1(set);
  }
  warn_of_broken(set, scheme);
}

// Whether a sentence of a lone training file is for validation.
bool is_held_out(const TaggedSentence& sentence, double fraction) {
  std::string text;
  for (const std::string& word : sentence.words) (text += word) += '\0';
  constexpr double kHashes = 18446744073709551616.0;  // 2^64
  return static_cast<double>(XXH3_64bits(text.data(), text.size())) < fraction * kHashes;
}

TaggedParts divided(TaggedSet whole, const Settings& settings) {
  constexpr double kTenth = 0.1;
  const double fraction =
      settings.data.validation_fraction > 0 ? settings.data.validation_fraction : kTenth;
  TaggedParts parts{.training = {.file = whole.file},
                    .validation = {.file = whole.file + " (held out)"}};
  for (TaggedSentence& sentence : whole.sentences) {
    TaggedSet& part = is_held_out(sentence, fraction) ? parts.validation : parts.training;
    part.sentences.push_back(std::move(sentence));
  }
  for (const TaggedSet* part : {&parts.training, &parts.validation}) {
    if (!part->sentences.empty()) continue;
    throw_failure(whole.file,
                  fmt::format("data.validation_fraction {} of its {} leaves none to {}", fraction,
                              format_counted(std::ssize(whole.sentences), "sentence"),
                              part == &parts.training ? "train on" : "validate on"),
                  "another fraction, more sentences, or --data.validation FILE");
  }
  return parts;
}

}  // namespace

TagScheme tagging_scheme(const Settings& settings) {
  return scheme_of(settings.tagging.classes, settings.tagging.scheme, "tagging.classes");
}

EntityRule entity_rule(TagScheme scheme) {
  if (scheme == TagScheme::bioes) return EntityRule::strict_bioes;
  return scheme == TagScheme::bio ? EntityRule::lenient : EntityRule::words;
}

Settings with_classes(const Settings& settings) {
  if (!settings.tagging.classes.empty()) return settings;
  TaggedSet set = read_sentences(settings.data.train, settings);
  const TagScheme scheme = scheme_of(tags_in(set), settings.tagging.scheme, set.file);
  if (scheme == TagScheme::bio) convert_iob1(set);
  Settings completed = settings;
  completed.tagging.classes = tags_in(set);
  if (completed.tagging.classes.size() < 2) {
    throw_failure(set.file, fmt::format("has one tag, {}: nothing to tell apart",
                                        completed.tagging.classes.front()));
  }
  return completed;
}

std::int64_t TaggedSet::words() const {
  std::int64_t count = 0;
  for (const TaggedSentence& sentence : sentences) count += std::ssize(sentence.words);
  return count;
}

TaggedSet read_tagged_set(const fs::path& file, const Settings& settings) {
  TaggedSet set = read_sentences(file, settings);
  fit_scheme(set, settings);
  return set;
}

TaggedParts read_tagged_parts(const Settings& settings) {
  TaggedSet training = read_tagged_set(settings.data.train, settings);
  if (settings.data.validation.empty()) return divided(std::move(training), settings);
  return {.training = std::move(training),
          .validation = read_tagged_set(settings.data.validation, settings)};
}

TaggedSet read_validation_set(const Settings& settings) {
  if (!settings.data.validation.empty()) return read_tagged_set(settings.data.validation, settings);
  return read_tagged_parts(settings).validation;
}

std::vector<std::int64_t> tag_numbers(const std::vector<std::string>& tags,
                                      const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, std::int64_t> numbers;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    numbers.emplace(classes[i], static_cast<std::int64_t>(i));
  }
  std::vector<std::int64_t> result;
  for (const std::string& tag : tags) {
    const auto found = numbers.find(tag);
    result.push_back(found == numbers.end() ? -1 : found->second);
  }
  return result;
}

std::vector<WordWindow> windows_of(const std::vector<TaggedSentence>& sentences,
                                   const WordEncoder& encoder) {
  std::vector<WordWindow> all;
  std::int64_t first = 0;  // word of the sentence
  for (const TaggedSentence& sentence : sentences) {
    for (WordWindow& window : encoder.windows(sentence.words)) {
      for (std::int64_t& word : window.words) word += first;
      all.push_back(std::move(window));
    }
    first += std::ssize(sentence.words);
  }
  return all;
}

}  // namespace roformer
