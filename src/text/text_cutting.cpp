#include "text/text_cutting.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <utility>

#include "text/bert_normalization.h"
#include "text/characters.h"
#include "text/growing_text.h"
#include "text/utf8.h"

namespace roformer {
namespace {
namespace pre_tokenizers {

constexpr std::size_t kMostSteps = 64;

bool is_white_space(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}
bool is_number(char32_t c) {
  return (code_point_category(c) & U_GC_N_MASK) != 0;
}

SplitBehavior behavior_of(const JsonFields& step, SplitBehavior standard) {
  return step.word<SplitBehavior>("behavior", standard,
                                  {{"Isolated", SplitBehavior::isolated},
                                   {"Removed", SplitBehavior::removed},
                                   {"MergedWithPrevious", SplitBehavior::merged_with_previous},
                                   {"MergedWithNext", SplitBehavior::merged_with_next},
                                   {"Contiguous", SplitBehavior::contiguous}});
}

TextPattern pattern_of(const JsonFields& step, const char* kind, std::string text) {
  const nlohmann::json object = {{"pattern", {{kind, std::move(text)}}}};
  return TextPattern(JsonFields(object, step.file()));
}

using Steps = std::vector<CuttingStep>;

Steps split(const JsonFields& step) {
  CuttingStep cutting;
  cutting.behavior = behavior_of(step, SplitBehavior::isolated);
  cutting.inverted = step.flag("invert", false);
  // Otherwise an empty segment, which is dropped here, would keep its neighbours apart.
  const bool isolates = cutting.behavior == SplitBehavior::isolated && !cutting.inverted;
  cutting.pattern.emplace(step, isolates ? EmptyMatches::allowed : EmptyMatches::refused);
  return {cutting};
}

Steps punctuation(const JsonFields& step) {
  CuttingStep cutting;
  cutting.is_delimiter = is_bert_punctuation;
  cutting.behavior = behavior_of(step, SplitBehavior::isolated);
  return {cutting};
}

Steps digits(const JsonFields& step) {
  CuttingStep cutting;
  cutting.is_delimiter = is_number;
  if (!step.flag("individual_digits", false)) cutting.behavior = SplitBehavior::contiguous;
  return {cutting};
}

CuttingStep white_space() {
  CuttingStep cutting;
  cutting.is_delimiter = is_white_space;
  cutting.behavior = SplitBehavior::removed;
  return cutting;
}
Steps whitespace_split(const JsonFields&) {
  return {white_space()};
}

// Words, and runs of other characters. The joiners belong to words in Rust's \w, which this step
// uses, and not in a pattern's.
Steps whitespace(const JsonFields&) {
  CuttingStep words;
  words.is_delimiter = is_word_character;
  words.behavior = SplitBehavior::contiguous;
  return {white_space(), words};
}

Steps bert(const JsonFields&) {
  CuttingStep marks;
  marks.is_delimiter = is_bert_punctuation;
  return {white_space(), marks};
}

Steps delimiter(const JsonFields& step) {
  CuttingStep cutting;
  cutting.pattern = pattern_of(step, "String", step.text("delimiter"));
  cutting.behavior = SplitBehavior::removed;
  return {cutting};
}

Steps byte_level(const JsonFields& step) {
  CuttingStep cutting;
  if (step.flag("add_prefix_space", true)) cutting.rewriting = CuttingStep::Rewriting::prefix_space;
  if (step.flag("use_regex", true)) {
    cutting.pattern = pattern_of(step, "Regex", std::string(kGpt2Pattern));
  }
  return {cutting};
}

Steps metaspace(const JsonFields& step) {
  using Prefix = CuttingStep::Prefix;
  CuttingStep cutting;
  cutting.rewriting = CuttingStep::Rewriting::marked_spaces;
  cutting.marker = step.text("replacement", "\xE2\x96\x81");
  if (count_characters(cutting.marker) != 1) step.refuse("replacement", "one character");
  cutting.prefix = step.word<Prefix>(
      "prepend_scheme", Prefix::always,
      {{"always", Prefix::always}, {"first", Prefix::first}, {"never", Prefix::never}});
  // Files of older releases have only this field.
  if (!step.flag("add_prefix_space", true)) cutting.prefix = Prefix::never;
  if (step.flag("split", true)) {
    cutting.pattern = pattern_of(step, "String", cutting.marker);
    cutting.behavior = SplitBehavior::merged_with_next;
  }
  return {cutting};
}

}  // namespace pre_tokenizers
}  // namespace

TextCutting::TextCutting(const JsonFields& file) {
  if (file.find("pre_tokenizer") != nullptr) read_step(file.object("pre_tokenizer"));
}

void TextCutting::read_step(const JsonFields& step) {
  using namespace pre_tokenizers;
  using Maker = Steps (*)(const JsonFields&);
  const Maker make = step.word<Maker>("type", {{"Sequence", nullptr},
                                               {"ByteLevel", byte_level},
                                               {"Split", pre_tokenizers::split},
                                               {"Digits", digits},
                                               {"Punctuation", punctuation},
                                               {"Whitespace", whitespace},
                                               {"WhitespaceSplit", whitespace_split},
                                               {"BertPreTokenizer", bert},
                                               {"CharDelimiterSplit", delimiter},
                                               {"Metaspace", metaspace}});
  if (make == nullptr) {
    for (const JsonFields& part : step.objects("pretokenizers")) read_step(part);
    return;
  }
  if (gives_bytes_ && (make == byte_level || make == metaspace)) {
    step.refuse("type", "a step that only cuts, since it follows ByteLevel");
  }
  if (gives_bytes_ && !letters_) {
    // Further steps see the letters of bytes.
    CuttingStep letters;
    letters.rewriting = CuttingStep::Rewriting::byte_letters;
    steps_.push_back(std::move(letters));
    letters_ = true;
  }
  for (CuttingStep& cutting : make(step)) add(step, std::move(cutting));
  gives_bytes_ = gives_bytes_ || make == byte_level;
}

void TextCutting::add(const JsonFields& step, CuttingStep cutting) {
  if (steps_.size() >= pre_tokenizers::kMostSteps) {
    step.refuse("type", fmt::format("at most {} pre-tokenizers", pre_tokenizers::kMostSteps));
  }
  if (!cutting.marker.empty()) marker_ = cutting.marker;
  steps_.push_back(std::move(cutting));
}

std::string CuttingStep::rewritten(std::string_view part, bool from_start) const {
  switch (rewriting) {
    case Rewriting::prefix_space:
      return (part.starts_with(' ') ? "" : " ") + std::string(part);
    case Rewriting::byte_letters:
      return byte_alphabet().letters_of(part);
    case Rewriting::marked_spaces:
      break;
    case Rewriting::none:
      return std::string(part);
  }
  GrowingText result(part.size());
  const bool marked = part.starts_with(' ') || part.starts_with(marker);
  const bool wanted = prefix == Prefix::always || (prefix == Prefix::first && from_start);
  if (wanted && !marked) result.append(marker);
  for (const char& c : part) {
    result.append(c == ' ' ? std::string_view(marker) : std::string_view(&c, 1));
  }
  return std::move(result).text();
}

SplitPattern::Match CuttingStep::find(std::string_view part, std::size_t position,
                                      std::int64_t& effort) const {
  if (pattern) return pattern->find(part, position, effort);
  while (position < part.size()) {
    const std::size_t begin = position;
    if (is_delimiter(next_code_point(part, position))) return {.begin = begin, .end = position};
  }
  return {.begin = part.size(), .end = part.size()};
}

}  // namespace roformer
