#include "data/labelled_texts.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/as_number.h"
#include "base/blank.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/log.h"
#include "base/parts.h"
#include "base/printable.h"
#include "base/progress.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTextKey = "classification.text";
constexpr const char* kLabelKey = "classification.label";
constexpr char kBetweenClasses = '|';  // in the label of a text with several classes
constexpr std::size_t kFewClasses = 8;
constexpr double kUsualShare = 0.1;

struct NamedColumns {
  std::string_view first, second;
};
// Column names of widespread data sets.
constexpr std::array<NamedColumns, 7> kTexts = {{{"sentence1", "sentence2"},
                                                 {"premise", "hypothesis"},
                                                 {"question1", "question2"},
                                                 {"question", "sentence"},
                                                 {"text", ""},
                                                 {"sentence", ""},
                                                 {"review", ""}}};
constexpr std::array<std::string_view, 7> kLabels = {"label",  "labels", "class",   "score",
                                                     "rating", "target", "category"};

std::optional<std::size_t> usual_label(const TableReader& table) {
  for (const std::string_view name : kLabels) {
    if (table.has(name)) return table.column(std::string(name), kLabelKey);
  }
  return std::nullopt;
}

std::optional<std::size_t> find_label_column(const TableReader& table,
                                             const ClassificationSettings& settings) {
  if (!settings.label.empty()) return table.column(settings.label, kLabelKey);
  if (const auto usual = usual_label(table)) return usual;
  const bool unnamed = table.has("1") && !table.is_json();
  if (unnamed && table.names().size() > 1) return table.names().size() - 1;
  return std::nullopt;
}

[[noreturn]] void refuse_no_column(const TableReader& table, const char* key, const char* what) {
  const std::vector<std::string>& names = table.names();
  if (names.size() == 1 && names.front().find(';') != std::string::npos) {
    throw_usage(key, fmt::format("{} has one column, {}", table.file(), printable(names.front())),
                "cells are separated by commas (.csv) or tabs (.tsv), not by semicolons");
  }
  throw_usage(key, fmt::format("{} has no column of a usual name for the {}", table.file(), what),
              fmt::format("--{} NAME or its number; its columns: {}", key,
                          clean_line(few_of(table.names(), kFewClasses))));
}

std::size_t label_column(const TableReader& table, const ClassificationSettings& settings) {
  const auto column = find_label_column(table, settings);
  if (!column) refuse_no_column(table, kLabelKey, "label");
  return *column;
}

std::vector<std::string> row_classes(TableReader& table, std::size_t column, TargetKind kind) {
  if (kind == TargetKind::multi) {
    std::vector<std::string> names = table.list(column, kBetweenClasses);
    for (const std::string& name : names) {
      if (name.empty()) throw_failure(table.location(), "has an empty label");
      if (name.find(kBetweenClasses) == std::string::npos) continue;
      throw_failure(table.location(), fmt::format("has the label {}, but {} separates labels",
                                                  printable(name), kBetweenClasses));
    }
    return names;
  }
  std::string name = table.text(column);
  while (!name.empty() && is_blank(name.substr(name.size() - 1))) name.pop_back();
  name.erase(0, name.find_first_not_of(" \t\r\n"));
  if (name.empty()) throw_failure(table.location(), "has an empty label");
  return {std::move(name)};
}

// "1", "2", "10" in the order of the numbers; other names by their bytes.
std::vector<std::string> in_order(std::vector<std::string> names) {
  if (std::ranges::all_of(
          names, [](const std::string& n) { return as_number<std::int64_t>(n).has_value(); })) {
    std::ranges::sort(names, {},
                      [](const std::string& name) { return *as_number<std::int64_t>(name); });
  }
  return names;
}

class RowReader {
 public:
  RowReader(TableReader& table, const ClassificationSettings& settings)
      : table_(table),
        settings_(settings),
        texts_(text_columns(table, settings)),
        label_(label_column(table, settings)) {
    for (std::size_t i = 0; i < settings.classes.size(); ++i) {
      numbers_.emplace(settings.classes[i], static_cast<std::int64_t>(i));
    }
  }

  bool pairs() const { return texts_.second.has_value(); }

  LabelledText read(std::int64_t index) {
    LabelledText text{.index = index, .first = table_.text(texts_.first)};
    if (texts_.second) text.second = table_.text(*texts_.second);
    if (settings_.kind == TargetKind::regression) {
      text.score = score();
      return text;
    }
    for (const std::string& name : row_classes(table_, label_, settings_.kind)) {
      text.labels.push_back(number_of(name));
    }
    if (settings_.kind == TargetKind::single) {
      text.label = text.labels.front();
      text.labels.clear();
    }
    std::ranges::sort(text.labels);
    const auto repeated = std::ranges::unique(text.labels);
    text.labels.erase(repeated.begin(), repeated.end());
    return text;
  }

 private:
  TableReader& table_;
  const ClassificationSettings& settings_;
  TextColumns texts_;
  std::size_t label_;
  std::map<std::string, std::int64_t> numbers_;

  std::int64_t number_of(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    throw_failure(table_.location(),
                  fmt::format("got label {}, wanted one of {}", printable(name),
                              clean_line(few_of(settings_.classes, kFewClasses))),
                  "the classes are those of data.train, or of classification.classes");
  }

  double score() const {
    const std::string text = table_.text(label_);
    const std::optional<double> value = as_number<double>(trimmed(text, " \t"));
    if (value && std::isfinite(*value)) return *value;
    throw_failure(table_.location(), fmt::format("got score {}, wanted a number", printable(text)),
                  "1.5 or 15e-1; names of classes need classification.kind single or multi");
  }
};

std::uint64_t text_hash(const LabelledText& text) {
  const std::string both = text.first + '\0' + text.second;
  return XXH3_64bits(both.data(), both.size());
}

}  // namespace

TextColumns text_columns(const TableReader& table, const ClassificationSettings& settings) {
  std::vector<std::string> chosen = settings.text;
  for (const auto& [first, second] : kTexts) {
    if (!chosen.empty() || !table.has(first)) continue;
    if (second.empty()) {
      chosen = {std::string(first)};
    } else if (table.has(second)) {
      chosen = {std::string(first), std::string(second)};
    }
  }
  if (!chosen.empty()) {
    TextColumns columns{.first = table.column(chosen.front(), kTextKey)};
    if (chosen.size() > 1) columns.second = table.column(chosen[1], kTextKey);
    return columns;
  }
  const auto label = find_label_column(table, settings);
  if (table.names().size() == 1 && !label) return {.first = 0};
  if (table.names().size() == 2 && label) return {.first = 1 - *label};
  refuse_no_column(table, kTextKey, "text");
}

std::vector<std::string> usual_text_names(const ClassificationSettings& settings) {
  std::vector<std::string> names = settings.text;
  for (const NamedColumns& usual : kTexts) {
    if (settings.text.empty()) names.emplace_back(usual.first);
  }
  return names;
}

std::vector<std::string> find_classes(const DataSettings& data,
                                      const ClassificationSettings& settings) {
  if (settings.kind == TargetKind::regression) return {};
  TableReader table(data.train, {.header = data.header});
  const std::size_t column = label_column(table, settings);
  std::set<std::string> names;
  while (table.next()) {
    for (std::string& name : row_classes(table, column, settings.kind)) {
      names.insert(std::move(name));
    }
    constexpr std::size_t kMost = 100'000;
    if (names.size() <= kMost) continue;
    throw_failure(table.file(), fmt::format("has more than {} classes", format_count(kMost)),
                  "is classification.label the column of the labels?");
  }
  const std::size_t least = settings.kind == TargetKind::single ? 2 : 1;
  if (names.size() >= least) return in_order({names.begin(), names.end()});
  throw_failure(
      table.file(),
      names.empty() ? "has no labels" : fmt::format("has one class, {}", printable(*names.begin())),
      "a classifier needs two");
}

LabelledTexts read_labelled_texts(const fs::path& file, bool header,
                                  const ClassificationSettings& settings) {
  TableReader table(file, {.header = header});
  RowReader rows(table, settings);
  LabelledTexts result{.pairs = rows.pairs(), .labelled = true};
  while (table.next()) {
    result.examples.push_back(rows.read(std::ssize(result.examples)));
    const LabelledText& text = result.examples.back();
    result.empty_sentences += is_blank(text.first) + (result.pairs && is_blank(text.second));
  }
  if (result.examples.empty()) throw_failure(file.string(), "has no examples");
  table.lines().warn_of_replaced();
  if (result.empty_sentences > 0) {
    log::warn("{}: {}", file.string(), format_counted(result.empty_sentences, "empty text"));
  }
  return result;
}

double held_out_share(const DataSettings& data) {
  return data.validation_fraction > 0 ? data.validation_fraction : kUsualShare;
}

LabelledSplits divide_labelled(LabelledTexts texts, double validation_fraction) {
  std::map<std::int64_t, std::vector<std::pair<std::uint64_t, std::size_t>>> classes;
  for (std::size_t i = 0; i < texts.examples.size(); ++i) {
    classes[texts.examples[i].label].emplace_back(text_hash(texts.examples[i]), i);
  }
  std::vector<bool> held_out(texts.examples.size());
  for (auto& [label, members] : classes) {
    std::ranges::sort(members);
    const double wanted = validation_fraction * static_cast<double>(members.size());
    const auto count = std::max<std::size_t>(1, static_cast<std::size_t>(std::llround(wanted)));
    // Equal texts stay together: in the training if there are too many of them to hold out.
    const std::size_t most = std::min(2 * count + 1, members.size() - 1);
    std::size_t taken = 0;
    for (auto first = members.begin(); first != members.end() && taken < count;) {
      const auto end = std::ranges::find_if(
          first, members.end(), [&](const auto& member) { return member.first != first->first; });
      const auto equal = static_cast<std::size_t>(end - first);
      if (taken + equal <= most) {
        for (auto member = first; member != end; ++member) held_out[member->second] = true;
        taken += equal;
      }
      first = end;
    }
  }
  LabelledSplits splits{.training = {.pairs = texts.pairs, .labelled = true},
                        .validation = {.pairs = texts.pairs, .labelled = true}};
  for (std::size_t i = 0; i < texts.examples.size(); ++i) {
    (held_out[i] ? splits.validation : splits.training)
        .examples.push_back(std::move(texts.examples[i]));
  }
  return splits;
}

LabelledSplits read_labelled_splits(const DataSettings& data,
                                    const ClassificationSettings& settings) {
  LabelledTexts training = read_labelled_texts(data.train, data.header, settings);
  if (data.validation.empty()) {
    LabelledSplits splits = divide_labelled(std::move(training), held_out_share(data));
    for (const LabelledTexts* split : {&splits.training, &splits.validation}) {
      if (!split->examples.empty()) continue;
      throw_failure(data.train.string(), "has too few examples to hold some out for validation",
                    "--data.validation FILE names others");
    }
    return splits;
  }
  return {.training = std::move(training),
          .validation = read_labelled_texts(data.validation, data.header, settings)};
}

}  // namespace roformer
