#include "runs/classifier_classes.h"

#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "config/words.h"

namespace roformer {
namespace {

std::string lower_letters(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) result += c;
  }
  return result;
}

}  // namespace

std::string glue_task_word(const std::string& name) {
  for (const std::string_view word : Words<GlueTask>::texts) {
    if (lower_letters(name) == word) return std::string(word);
  }
  return "";
}

std::vector<std::int64_t> class_order(const std::vector<std::string>& theirs,
                                      const std::vector<std::string>& ours) {
  std::vector<std::int64_t> order;
  for (const std::string& label : ours) {
    const auto found = std::find_if(theirs.begin(), theirs.end(), [&](const std::string& name) {
      return lower_letters(name) == lower_letters(label);
    });
    if (found == theirs.end()) return {};
    order.push_back(found - theirs.begin());
  }
  return theirs.size() == ours.size() ? order : std::vector<std::int64_t>{};
}

bool are_unnamed(const std::vector<std::string>& labels) {
  return std::ranges::all_of(labels,
                             [](const std::string& label) { return label.starts_with("LABEL_"); });
}

bool has_row_of_each_class(const Settings& settings, const std::string& parameter) {
  const std::string last =
      settings.glue.head == ClassifierHead::roformer ? "classifier.output" : "classifier";
  return parameter == last + ".weight" || parameter == last + ".bias";
}

at::Tensor in_class_order(const at::Tensor& value, const std::vector<std::int64_t>& order) {
  return at::index_select(value, 0, at::tensor(order, at::kLong));
}

}  // namespace roformer
