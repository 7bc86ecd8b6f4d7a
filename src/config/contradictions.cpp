#include "config/contradictions.h"

#include <algorithm>
#include <utility>

namespace roformer {

void Contradictions::add(const std::vector<std::string>& keys, std::string message,
                         std::string hint) const {
  for (const std::string& key : keys) {
    if (wrong_.contains(key)) return;
  }
  const auto set = std::find_if(keys.begin(), keys.end(), [this](const std::string& key) {
    return locations_.contains(key);
  });
  const bool by_default = set == keys.end();
  problems_.add({.where = by_default ? "default" : locations_.at(*set),
                 .key = by_default ? keys.front() : *set,
                 .message = std::move(message),
                 .hint = std::move(hint)});
}

}  // namespace roformer
