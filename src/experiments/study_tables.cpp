#include "experiments/study_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "config/task_facts.h"
#include "experiments/difference_table.h"
#include "experiments/length_report.h"
#include "experiments/study_table.h"

namespace roformer {
namespace {

// The text that says from which validation the figures come.
std::string validation_sentence(const StudySettings& study) {
  if (std::ranges::none_of(study.runs, shows_best_validation))
    return "Figures of the last validation.";
  if (std::ranges::all_of(study.runs, shows_best_validation)) {
    return "Figures of the best validation: training.patience ends the runs after it.";
  }
  return "Figures of the last validation; of the best where training.patience ends the run.";
}

// If several seeds continue one pretraining, they say nothing about the noise of pretrainings.
std::string checkpoint_sentence(const StudySettings& study) {
  const std::optional<std::size_t> seed = seed_axis(study);
  if (!seed || study.axes[*seed].values.size() < 2) return "";
  // The models from which the runs of each row start.
  std::map<std::vector<std::string>, std::set<std::string>> sources;
  for (const StudyRun& run : study.runs) {
    if (run.settings.model.from.empty() || !run.settings.model.from_weights) return "";
    std::vector<std::string> labels = run.values;
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(*seed));
    sources[labels].insert(run.settings.model.from.string());
  }
  for (const auto& [labels, from] : sources) {
    if (from.size() > 1) return "";
  }
  return " The seeds are of the fine-tuning: all of a row go on from one pretraining, so that "
         "deviations and tests compare these checkpoints, not the schemes that they were trained "
         "with.";
}

std::string paper_sources(const StudySettings& study) {
  std::vector<std::string> sources;
  for (const PaperValue& value : study.paper) add_once(sources, value.source);
  std::erase(sources, "");
  return fmt::format("{}", fmt::join(sources, "; "));
}

// Names the shares of the steps at which the table shows the loss; "" if it shows none.
std::string shares_sentence(const std::vector<Column>& columns) {
  std::vector<std::string> shares;
  for (const char* const share : {"25", "50", "75"}) {
    const std::string key = std::string("loss_at_") + share;
    if (std::ranges::find(columns, key, &Column::key) != columns.end()) shares.emplace_back(share);
  }
  if (shares.empty()) return "";
  const std::string last = shares.back();
  shares.pop_back();
  const std::string others = fmt::format("{}", fmt::join(shares, ", "));
  return " Loss at " + (others.empty() ? last : others + " and " + last) +
         " % of the steps: the nearest validation before.";
}

std::string results_caption(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const bool labelled = task_facts(study.runs.front().settings.task).labelled;
  std::string text = validation_sentence(study);
  text +=
      labelled ? " The score is the task's own metric; a collapsed run gives every example of the "
                 "validation set the same label."
      : of_several_questions(study, rows)
          ? " Losses and accuracies are of the pieces of each row's own vocabulary, or of its own "
            "kind of questions: they do not compare between those, and none of them is marked; of "
            "other columns the best is bold."
          : " The best of each column is bold.";
  text += shares_sentence(study_table(study, rows, TableUse::data).columns());
  text += checkpoint_sentence(study);
  if (!study.choose.empty()) {
    text += fmt::format(" Of {} the value with the best mean on the validation set.", study.choose);
  }
  for (const StudyAxis& axis : study.axes) {
    if (axis.key == kSeedAxis && axis.values.size() > 1) {
      // The rows of a protocol have different numbers of seeds.
      text += study.version > 0
                  ? std::string(" Mean ± standard deviation over the seeds of a row.")
                  : fmt::format(" Mean ± standard deviation over {} seeds.", axis.values.size());
      const bool partly = std::ranges::any_of(rows, [&](const StudyRow& row) {
        return !row.share(study.metric).empty() && !row.figures(study.metric).empty();
      });
      if (partly) text += " \"(1 of 3)\": not all of them; such a row is never the best.";
    }
  }
  const std::string sources = paper_sources(study);
  if (!sources.empty()) text += " The paper's values: " + sources + ".";
  text += attention_sentence(rows);
  return text;
}

// The page shows the charts' lines as rows below the others. Their cells are words and cannot be
// the best of their column, because no model was trained for them.
Table with_reference_lines(const Table& table, const StudySettings& study,
                           const StudyResults& results) {
  const std::vector<Column>& columns = table.columns();
  const auto metric = std::ranges::find(columns, study.metric, &Column::name);
  const auto title = std::ranges::find(columns, Column::Alignment::left, &Column::alignment);
  if (metric == columns.end() || title == columns.end() || table.rows().empty()) return table;
  Table result = table;
  for (const ReferenceLine& line : results.references) {
    std::vector<Cell> cells(columns.size());
    cells[static_cast<std::size_t>(title - columns.begin())] = line.label;
    cells[static_cast<std::size_t>(metric - columns.begin())] = as_words(line.value, *metric);
    result.add_row(std::move(cells));
  }
  return result;
}

std::string length_caption(const StudySettings& study, const std::vector<LengthRow>& lengths) {
  const std::optional<std::int64_t> training_length = common_training_length(study);
  return fmt::format(
      "Loss in nats of held-out text in rows of each length, the same rows for all of a column; "
      "{}. "
      "{} ± is the standard deviation over the seeds, where there are several.",
      training_length ? fmt::format("trained at {}", *training_length)
                      : "not all were trained at the same length",
      weights_sentence(lengths));
}

}  // namespace

std::vector<StudyTable> study_tables(const StudySettings& study, const StudyResults& results,
                                     TableUse use) {
  std::vector<StudyTable> tables;
  const auto add = [&](StudyTable table) {
    if (!table.table.rows().empty()) tables.push_back(std::move(table));
  };
  const std::vector<StudyRow> rows = chosen_rows(study, results.rows);
  if (!study.spread.empty()) {
    add({.name = "spread", .table = spread_table(study, rows, use)});
  }
  add({.name = "results",
       .table = use == TableUse::page
                    ? with_reference_lines(study_table(study, rows, use), study, results)
                    : study_table(study, rows, use),
       .caption = results_caption(study, rows)});
  if (use == TableUse::page) {  // elsewhere a row says its own reason
    add({.name = "missing",
         .title = "Not finished",
         .table = missing_table(results.rows),
         .of_missing = true});
  }
  add({.name = "differences",
       .title = "Differences, paired by seed",
       .table = difference_table(study, rows),
       .caption = difference_caption(study, rows)});
  add({.name = "target_differences",
       .title = "Differences of rows of one seed, on the same targets",
       .table = target_difference_table(study, rows),
       .caption = target_difference_caption(study)});
  if (const auto& translations = results.translations) {
    add({.name = "translations",
         .title = "Translations",
         .table = translations->scores,
         .caption = translations->scores_caption});
    add({.name = "missing_translations",
         .title = "Without translations",
         .table = translations->missing,
         .of_missing = true});
    add({.name = "translation_tests",
         .title = "Differences of the translations",
         .table = translations->tests,
         .caption = translations->tests_caption});
  }
  if (results.tuning) {
    add({.name = "tuning",
         .title = "What was tuned",
         .table = tuning_table(*study.tuning, *results.tuning),
         .caption = tuning_sentence(*study.tuning)});
  }
  if (!results.lengths.empty()) {
    add({.name = "lengths",
         .title = "At other lengths",
         .table = length_table(results.lengths, common_training_length(study)),
         .caption = length_caption(study, results.lengths)});
    add({.name = "missing_lengths",
         .title = "Not evaluated",
         .table = missing_lengths(results.lengths),
         .of_missing = true});
  }
  return tables;
}

const StudyTable* find_table(const std::vector<StudyTable>& tables, std::string_view name) {
  const auto found = std::ranges::find(tables, name, &StudyTable::name);
  return found == tables.end() ? nullptr : &*found;
}

}  // namespace roformer
