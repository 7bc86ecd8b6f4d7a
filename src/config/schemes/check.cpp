#include "config/schemes/check.h"

#include <fmt/format.h>

#include "config/words.h"

namespace roformer {

std::string SchemeCheck::task() const {
  return to_word(settings_.task);
}

std::string SchemeCheck::option(std::string_view name) const {
  return fmt::format("position.{}.{}", use_.position.scheme, name);
}

void SchemeCheck::problem(const std::vector<std::string>& keys, std::string message,
                          std::string hint) const {
  contradictions_.add(keys, std::move(message), std::move(hint));
}

void check_table(const SchemeCheck& check, std::int64_t rows,
                 const std::vector<std::string>& options) {
  const std::int64_t length = check.settings().data.length;
  if (length <= rows) return;
  std::vector<std::string> keys{"data.length", check.choice()};
  for (const std::string& option : options) keys.push_back(check.option(option));
  // A model to start from fixes the length of its table.
  const bool fixed = !check.settings().model.from.empty();
  check.problem(
      keys, fmt::format("got {}, but {} has a table of {} positions", length, check.name(), rows),
      fixed ? fmt::format("--data.length {}, as model.from has no more", rows)
            : fmt::format("--{} {}", check.option("length"), length));
}

void check_buckets(const SchemeCheck& check, std::int64_t buckets, std::int64_t max_distance) {
  // Half of the buckets (in an encoder, half of each side's) hold one distance each. The other half
  // is logarithmic and must begin before the largest distance.
  const std::int64_t sides = check.both_sides() ? 2 : 1;
  if (buckets % (2 * sides) != 0) {
    check.problem({check.option("buckets"), check.choice(), "task"},
                  fmt::format("got {}, wanted a multiple of {} for the task {}", buckets, 2 * sides,
                              check.task()));
  } else if (max_distance <= buckets / (2 * sides)) {
    check.problem({check.option("max_distance"), check.option("buckets"), check.choice(), "task"},
                  fmt::format("got {}, wanted more than {}, the distances that {} buckets hold "
                              "singly",
                              max_distance, buckets / (2 * sides), buckets));
  }
}

void check_pairs_of_head(const SchemeCheck& check) {
  const std::int64_t head = check.head_width();
  if (!check.has_head_width() || (head >= 2 && head % 2 == 0)) return;
  const ModelSettings& model = check.settings().model;
  check.problem({"model.heads", "model.width", check.choice()},
                fmt::format("{} rotates pairs of features, but a head has {} ({} features among {} "
                            "heads)",
                            check.name(), head, model.width, model.heads),
                "an even number of features a head");
}

}  // namespace roformer
