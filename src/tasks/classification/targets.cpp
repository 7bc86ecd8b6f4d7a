#include "tasks/classification/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/error.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

constexpr char kBetweenNames = '|';  // in glue.class_names

std::string lower_letters(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') result += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) result += c;
  }
  return result;
}

// The place of each of our classes among theirs: by its name, or else by its name without case and
// punctuation. Empty if the two lists do not correspond one to one.
std::vector<std::int64_t> order_by(const std::vector<std::string>& ours,
                                   const std::vector<std::string>& theirs) {
  if (theirs.size() != ours.size()) return {};
  std::vector<std::int64_t> order;
  for (const std::string& label : ours) {
    auto found = std::ranges::find(theirs, label);
    if (const std::string letters = lower_letters(label);
        found == theirs.end() && !letters.empty()) {
      found = std::ranges::find(theirs, letters, lower_letters);
    }
    if (found == theirs.end()) return {};
    order.push_back(found - theirs.begin());
  }
  return std::set(order.begin(), order.end()).size() == order.size() ? order
                                                                     : std::vector<std::int64_t>{};
}

}  // namespace

std::string glue_task_word(const std::string& name) {
  for (const std::string_view word : Words<GlueTask>::texts) {
    if (lower_letters(name) == word) return std::string(word);
  }
  return "";
}

std::int64_t Targets::outputs() const {
  return is_regression() ? 1 : std::ssize(classes);
}

Targets glue_targets(GlueTask task) {
  const GlueTaskFacts& facts = glue_task_facts(task);
  Targets targets{.kind = facts.is_regression() ? TargetKind::regression : TargetKind::single,
                  .classes = facts.labels,
                  .names = facts.labels,
                  .figures = {"accuracy"},
                  .title = facts.folder};
  if (facts.is_regression()) targets.figures = {"pearson", "spearman"};
  const std::string_view metric = glue_metric(task);
  if (metric == "f1" || metric == "matthews") targets.figures.push_back(metric);
  return targets;
}

Targets targets_of(const Settings& settings) {
  if (settings.task == TaskKind::glue) {
    Targets targets = glue_targets(settings.glue.task);
    targets.names = class_names(settings.glue);
    return targets;
  }
  const ClassificationSettings& classification = settings.classification;
  Targets targets{.kind = classification.kind,
                  .classes = classification.classes,
                  .names = classification.classes,
                  .title = settings.data.train.filename().string()};
  for (const TaskFigure& figure : task_facts(settings.task).figures(settings)) {
    const auto known = [&](std::string_view name) {
      if (figure.figure == name) targets.figures.push_back(name);
    };
    for (const std::string_view name :
         {"accuracy", "macro_f1", "micro_f1", "matthews", "auc", "pearson", "spearman"}) {
      known(name);
    }
  }
  return targets;
}

TextModelShape classifier_shape(const Settings& settings) {
  const ClassifierSettings head = classifier_settings(settings);
  return {.outputs = targets_of(settings).outputs(),
          .head = head.head,
          .head_dropout = head.head_dropout,
          .pooling = head.pooling};
}

std::vector<std::int64_t> class_order(const std::vector<std::string>& theirs,
                                      const Settings& settings) {
  if (settings.task == TaskKind::classification) {
    return order_by(settings.classification.classes, theirs);
  }
  const GlueTaskFacts& task = glue_task_facts(settings.glue.task);
  const std::vector<std::int64_t> by_label = order_by(task.labels, theirs);
  return by_label.empty() && !task.names.empty() ? order_by(task.names, theirs) : by_label;
}

std::vector<std::string> class_names(const GlueSettings& settings) {
  const std::vector<std::string>& labels = glue_task_facts(settings.task).labels;
  if (settings.class_names.empty() || labels.empty()) return labels;
  std::vector<std::string> names(1);
  for (const char c : settings.class_names) {
    if (c == kBetweenNames) {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  if (names.size() == labels.size()) return names;
  throw_usage("glue.class_names",
              fmt::format("\"{}\" names {} classes, {} has {}", settings.class_names, names.size(),
                          to_word(settings.task), labels.size()),
              "a name for each of " + fmt::format("{}", fmt::join(labels, "|")));
}

std::string joined_class_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += kBetweenNames;
    std::ranges::copy_if(name, std::back_inserter(text), [](char c) {
      return c != kBetweenNames && static_cast<unsigned char>(c) >= ' ';
    });
  }
  return text.substr(1);
}

bool are_unnamed(const std::vector<std::string>& labels) {
  return std::ranges::all_of(labels,
                             [](const std::string& label) { return label.starts_with("LABEL_"); });
}

bool has_row_of_each_class(const Settings& settings, const std::string& parameter) {
  const std::string last = classifier_settings(settings).head == ClassifierHead::roformer
                               ? "classifier.output"
                               : "classifier";
  return parameter == last + ".weight" || parameter == last + ".bias";
}

at::Tensor in_class_order(const at::Tensor& value, const std::vector<std::int64_t>& order) {
  return at::index_select(value, 0, at::tensor(order, at::kLong));
}

}  // namespace roformer
