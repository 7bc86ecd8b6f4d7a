#include "config/suggest.h"

#include <algorithm>
#include <cctype>

#include "config/synonyms.h"

namespace roformer {
namespace {

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);
}

// Everything but the last part: "training." in `training.steps`.
std::string_view section(std::string_view name) {
  return name.substr(0, name.rfind('.') + 1);
}

std::size_t shared_beginning(std::string_view left, std::string_view right) {
  const auto end = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first;
  return static_cast<std::size_t>(end - left.begin());
}

// A known word in its original form and in the form used for comparison.
struct Candidate {
  const std::string* word;
  std::string form;
};

// Returns "" if every candidate has more than a third of its letters wrong.
std::string nearest_in_letters(std::string_view word, const std::vector<Candidate>& known,
                               std::string_view (*part)(std::string_view)) {
  const std::string* best = nullptr;
  int best_distance = std::max<int>(1, static_cast<int>(word.size()) / 3);
  std::size_t best_beginning = 0;
  for (const Candidate& candidate : known) {
    const std::string_view compared = part(candidate.form);
    const int distance = edit_distance(word, compared);
    const std::size_t beginning = shared_beginning(word, compared);
    if (distance > best_distance) continue;
    if (best && distance == best_distance && beginning <= best_beginning) continue;
    best = candidate.word;
    best_distance = distance;
    best_beginning = beginning;
  }
  return best ? *best : "";
}

}  // namespace

std::string folded_word(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  std::string result(word);
  for (char& c : result) {
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

int edit_distance(std::string_view left, std::string_view right) {
  const std::size_t width = right.size() + 1;
  std::vector<int> cells((left.size() + 1) * width);
  const auto cell = [&](std::size_t i, std::size_t j) -> int& { return cells[i * width + j]; };
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        cell(i, j) = static_cast<int>(i + j);
        continue;
      }
      const int replaced = cell(i - 1, j - 1) + (left[i - 1] == right[j - 1] ? 0 : 1);
      cell(i, j) = std::min({replaced, cell(i - 1, j) + 1, cell(i, j - 1) + 1});
      const bool swapped =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (swapped) cell(i, j) = std::min(cell(i, j), cell(i - 2, j - 2) + 1);
    }
  }
  return cells.back();
}

namespace {

// The nearest word, and for a synonym the value that it means.
struct Nearest {
  std::string word;
  std::string_view value = {};
};

Nearest nearest(std::string_view word, const std::vector<std::string>& known) {
  const std::string form = folded_word(word);
  // A text longer than any key is no typing error, and its table of distances would be large.
  if (form.empty() || form.size() > 100) return {};
  std::vector<Candidate> candidates;
  for (const std::string& name : known) {
    candidates.push_back({.word = &name, .form = folded_word(name)});
  }
  const std::string_view end = last_part(form);
  // A word that has this name, or whose last part has it.
  const auto called = [&](std::string_view name) -> std::string {
    for (const Candidate& candidate : candidates) {
      if (candidate.form == name) return *candidate.word;
    }
    const Candidate* elsewhere = nullptr;
    for (const Candidate& candidate : candidates) {
      if (last_part(candidate.form) != name) continue;
      if (section(candidate.form) == section(form)) return *candidate.word;
      if (elsewhere == nullptr) elsewhere = &candidate;
    }
    return elsewhere != nullptr ? *elsewhere->word : "";
  };
  // Finds `training.keep_last` for `training.keep`.
  const auto begun_in_section = [&]() -> std::string {
    if (section(form).empty() || end.empty()) return "";
    for (const Candidate& candidate : candidates) {
      if (candidate.form.starts_with(form + "_")) return *candidate.word;
    }
    return "";
  };
  const auto whole = [](std::string_view name) { return name; };
  std::string result = called(form);
  if (!result.empty()) return {result};
  // Other programs have no sections, so a synonym means its key wherever it is written.
  for (const Synonym& synonym : meanings_of(end)) {
    result = called(synonym.meant);
    if (result.empty()) result = called(last_part(synonym.meant));
    if (!result.empty()) return {result, synonym.value};
  }
  if (result.empty()) result = begun_in_section();
  if (result.empty()) result = nearest_in_letters(form, candidates, whole);
  if (result.empty()) result = called(end);
  if (result.empty()) result = nearest_in_letters(end, candidates, last_part);
  return {result};
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  return nearest(word, known).word;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const Nearest near = nearest(word, known);
  if (near.word.empty()) return "";
  const std::string value = near.value.empty() ? "" : " " + std::string(near.value);
  return "did you mean " + near.word + value;
}

std::string got_word(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = suggestion(word, known);
  return "got " + std::string(word) + (near.empty() ? "" : ", " + near);
}

}  // namespace roformer
