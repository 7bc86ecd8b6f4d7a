#include "data/tag_scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/few_of.h"
#include "base/printable.h"
#include "config/words.h"

namespace roformer {
namespace {

constexpr std::string_view kOutside = "O";
constexpr std::size_t kFewTags = 5;

bool has_mark(std::string_view tag, std::string_view marks) {
  if (tag.empty() || marks.find(tag.front()) == std::string_view::npos) return false;
  return tag.size() == 1 || tag[1] == '-';
}

std::string_view marks_of(TagScheme scheme) {
  return scheme == TagScheme::bioes ? "BIES" : "BI";
}

std::string listed(const std::vector<std::string>& tags) {
  std::vector<std::string> shown;
  for (const std::string& tag : tags) shown.push_back(printable(tag));
  return few_of(shown, kFewTags);
}

// The tags other than O that the scheme does not have.
std::vector<std::string> foreign_to(const std::vector<std::string>& tags, std::string_view marks) {
  std::vector<std::string> foreign;
  std::ranges::copy_if(tags, std::back_inserter(foreign), [&](const std::string& tag) {
    return tag != kOutside && !has_mark(tag, marks);
  });
  return foreign;
}

// A tag without its mark; tags of one entity have the same.
std::string_view type_of(std::string_view tag) {
  return tag.size() < 2 ? std::string_view() : tag.substr(2);
}

// Whether an entity begins at this word, also where I- or E- continues none.
bool begins(std::string_view tag, std::string_view before) {
  if (tag == kOutside) return false;
  if (tag.front() == 'B' || tag.front() == 'S' || before == kOutside) return true;
  return before.front() == 'E' || before.front() == 'S' || type_of(before) != type_of(tag);
}

// Whether BIOES allows the tag after the one before it. Both are O at the ends of a sentence.
bool may_follow(std::string_view tag, std::string_view before) {
  const bool open = before != kOutside && (before.front() == 'B' || before.front() == 'I');
  const bool continues = tag != kOutside && (tag.front() == 'I' || tag.front() == 'E');
  return open == continues && (!open || type_of(tag) == type_of(before));
}

}  // namespace

std::vector<std::string> ordered_tags(std::vector<std::string> tags) {
  std::ranges::sort(tags);
  const auto same = std::ranges::unique(tags);
  tags.erase(same.begin(), same.end());
  const auto outside = std::ranges::find(tags, kOutside);
  if (outside != tags.end()) std::rotate(tags.begin(), outside, outside + 1);
  return tags;
}

TagScheme scheme_of(const std::vector<std::string>& tags, TagScheme wanted,
                    const std::string& where) {
  if (wanted == TagScheme::plain) return wanted;
  if (wanted != TagScheme::automatic) {
    const std::vector<std::string> foreign = foreign_to(tags, marks_of(wanted));
    if (foreign.empty()) return wanted;
    throw_usage("tagging.scheme",
                fmt::format("is {}, and {} has {}", to_word(wanted), where, listed(foreign)),
                "--tagging.scheme plain takes tags as they are");
  }
  for (const TagScheme scheme : {TagScheme::bio, TagScheme::bioes}) {
    if (foreign_to(tags, marks_of(scheme)).empty()) return scheme;
  }
  const std::vector<std::string> foreign = foreign_to(tags, marks_of(TagScheme::bioes));
  const auto outside = std::ranges::count(tags, kOutside);
  const bool some_marked = foreign.size() + static_cast<std::size_t>(outside) < tags.size();
  if (!some_marked || outside == 0) return TagScheme::plain;
  const bool bilou = std::ranges::all_of(
      foreign, [](const std::string& tag) { return has_mark(tag, "LU") && tag.size() > 1; });
  throw_usage(where, fmt::format("mixes tag schemes: {} beside B- or I-", listed(foreign)),
              bilou ? "BILOU is BIOES by other letters: write E- for L- and S- for U-"
                    : "wanted BIO or BIOES; --tagging.scheme plain takes tags as they are");
}

void mark_beginnings(std::vector<std::string>& tags) {
  std::string before(kOutside);
  for (std::string& tag : tags) {
    const bool first = begins(tag, before);
    before = tag;
    if (first) tag.front() = 'B';
  }
}

EntityBeginnings count_beginnings(const std::vector<std::string>& tags) {
  EntityBeginnings counts;
  std::string_view before = kOutside;
  for (const std::string& tag : tags) {
    if (begins(tag, before)) {
      ++counts.all;
      if (tag.front() == 'I') ++counts.inside;
    }
    before = tag;
  }
  return counts;
}

bool is_broken(const std::vector<std::string>& tags, TagScheme scheme) {
  if (scheme == TagScheme::plain) return false;
  if (scheme == TagScheme::bio) return count_beginnings(tags).inside > 0;
  std::string_view before = kOutside;
  for (const std::string& tag : tags) {
    if (!may_follow(tag, before)) return true;
    before = tag;
  }
  return !may_follow(kOutside, before);
}

}  // namespace roformer
