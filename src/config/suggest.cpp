#include "config/suggest.h"

#include <algorithm>

namespace roformer {

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

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  // Longer than any key: not a slip of the finger, and the table of distances would be large.
  if (word.empty() || word.size() > 100) return "";
  std::string best;
  int best_distance = std::max<int>(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  const std::string_view last_part = word.substr(word.rfind('.') + 1);
  for (const std::string& candidate : known) {
    const std::size_t dot = candidate.rfind('.');
    if (dot != std::string::npos && candidate.substr(dot + 1) == last_part) return candidate;
  }
  return "";
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const std::string near = nearest_word(word, known);
  return near.empty() ? "" : "did you mean " + near;
}

}  // namespace roformer
