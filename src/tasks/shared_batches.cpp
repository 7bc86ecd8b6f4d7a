#include "tasks/shared_batches.h"

#include <utility>

namespace roformer {
namespace {

// Joins texts of any bytes into one, with the length before each.
std::string joined(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) {
    const std::uint64_t size = text.size();
    result.append(reinterpret_cast<const char*>(&size), sizeof size);
    result += text;
  }
  return result;
}

std::vector<std::string> split(const std::string& whole) {
  std::vector<std::string> texts;
  for (std::size_t offset = 0; offset < whole.size();) {
    std::uint64_t size = 0;
    std::memcpy(&size, whole.data() + offset, sizeof size);
    texts.push_back(whole.substr(offset + sizeof size, size));
    offset += sizeof size + size;
  }
  return texts;
}

}  // namespace

std::vector<std::string> in_batch_order(Processes& processes, const std::vector<std::string>& own) {
  if (processes.alone()) return own;
  std::vector<std::vector<std::string>> parts;
  std::size_t count = 0;
  for (const std::string& part : gather_texts(processes, joined(own))) {
    parts.push_back(split(part));
    count += parts.back().size();
  }
  std::vector<std::string> all;
  for (std::size_t n = 0; n < count; ++n) {
    all.push_back(std::move(parts[n % parts.size()][n / parts.size()]));
  }
  return all;
}

std::vector<std::vector<double>> in_batch_order(Processes& processes,
                                                const std::vector<std::vector<double>>& own) {
  std::vector<std::string> texts;
  for (const std::vector<double>& numbers : own) {
    texts.emplace_back(reinterpret_cast<const char*>(numbers.data()),
                       numbers.size() * sizeof(double));
  }
  std::vector<std::vector<double>> all;
  for (const std::string& text : in_batch_order(processes, texts)) {
    all.emplace_back(text.size() / sizeof(double));
    text.copy(reinterpret_cast<char*>(all.back().data()), text.size());
  }
  return all;
}

}  // namespace roformer
