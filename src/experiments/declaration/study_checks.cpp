#include "experiments/declaration/study_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "config/check.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/suggest.h"
#include "config/task_facts.h"
#include "experiments/declaration/study_metrics.h"

namespace roformer {
namespace {

// "rope" of position, or "rope, 1e4" of position and base: as rows are titled, without what never
// tells rows apart.
std::vector<std::string> row_names(const std::vector<MatrixAxis>& axes,
                                   const StudySettings& study) {
  std::vector<std::string> titles{""};
  for (const MatrixAxis& axis : axes) {
    if (axis.key == kSeedAxis || axis.key == study.spread || axis.key == study.choose) continue;
    std::vector<std::string> longer;
    for (const std::string& title : titles) {
      for (const MatrixValue& value : axis.values) {
        longer.push_back(title.empty() ? value.label : title + ", " + value.label);
      }
    }
    titles = std::move(longer);
  }
  return titles;
}

}  // namespace

void check_names(const StudySettings& study, const std::string& file, Problems& problems) {
  for (const auto& [key, name] :
       {std::pair("study.name", &study.name), std::pair("study.trainings", &study.trainings)}) {
    if (is_folder_name(*name)) continue;
    problems.add(file, key, fmt::format("got \"{}\", wanted the name of one folder", *name),
                 "the folder around it is `runs`");
  }
}

void require_axis(const std::string& key, const std::string& value,
                  const std::vector<MatrixAxis>& axes, const std::string& file,
                  Problems& problems) {
  const bool there = value.empty() || std::ranges::any_of(axes, [&](const MatrixAxis& axis) {
                       return axis.key == value;
                     });
  if (there) return;
  problems.add(file, key, "\"" + value + "\" is not varied in this study",
               "a key of the matrix, or --" + value + " A,B");
}

void require_reference(const std::vector<MatrixAxis>& axes, bool replaced, StudySettings& study,
                       const std::string& file, Problems& problems) {
  if (study.reference.empty()) return;
  std::vector<std::string> names = row_names(axes, study);
  std::size_t owners = 0;
  for (const MatrixAxis& axis : axes) {
    if (axis.key == kSeedAxis || axis.key == study.spread || axis.key == study.choose) continue;
    for (const MatrixValue& value : axis.values) {
      owners += value.label == study.reference;
      names.push_back(value.label);
    }
  }
  for (const std::string& row : study.primary.rows) {
    if (replaced || std::ranges::count(names, row) > 0) continue;
    problems.add(file, "study.primary.rows", "\"" + row + "\" names no row",
                 suggestion(row, names));
  }
  const bool titled = std::ranges::find(names, study.reference) != names.end();
  if (titled && owners < 2) return;
  if (!titled && replaced) {
    study.reference.clear();
    return;
  }
  problems.add(
      file, "study.reference",
      "\"" + study.reference + (titled ? "\" is a value of several axes" : "\" names no row"),
      titled ? "the whole title of a row" : suggestion(study.reference, names));
}

void refuse_equal_names(const std::vector<StudyRun>& runs, const std::string& file,
                        Problems& problems) {
  std::set<std::string> names;
  for (const StudyRun& run : runs) {
    if (!is_folder_name(run.name)) {
      problems.add(file, "matrix", fmt::format("the run \"{}\" cannot be a folder", run.name),
                   "fewer axes, or shorter names of variants");
      return;
    }
    if (names.insert(run.name).second) continue;
    problems.add(file, "matrix", "two of the runs are called \"" + run.name + "\"",
                 "other names of variants");
  }
}

void refuse_unknown_metrics(const std::vector<NamedMetric>& metrics, const StudySettings& study,
                            Problems& problems) {
  std::set<std::string> known;
  for (const StudyRun& run : study.runs) {
    for (std::string& name : run_figures(run.settings)) known.insert(std::move(name));
    if (study.evaluations.split != "test") continue;
    for (const std::int64_t length : study.evaluations.lengths) {
      known.insert(test_loss_at(length, run.settings));
    }
    if (!study.evaluations.decodes()) continue;
    for (std::string& name : translation_scores()) known.insert(std::move(name));
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const NamedMetric& metric : metrics) {
    const std::string base = median_of(metric.name).value_or(metric.name);
    if (metric.name.empty() || known.contains(base)) continue;
    const std::string near = suggestion(base, names);
    problems.add(metric.where, metric.key,
                 "no run of this study has a figure \"" + metric.name + "\"",
                 near.empty() ? fmt::format("they have {}", fmt::join(names, ", ")) : near);
  }
}

void check_reference_lines(const StudySettings& study, const std::string& file,
                           Problems& problems) {
  for (const StudyReferenceLine& line : study.reference_lines) {
    if (line.value || study.runs.empty()) continue;
    const bool text = std::ranges::all_of(study.runs, [](const StudyRun& run) {
      return task_facts(run.settings.task).data == TaskData::prepared_text;
    });
    const bool of_loss = study.metric == "validation_loss" ||
                         study.metric == "bits_per_character" || study.metric == "bits_per_byte";
    if (text && of_loss) continue;
    problems.add(file, "study.reference_lines",
                 "unigram is a loss of text, this study's metric is " + study.metric,
                 "{label: WORDS, value: NUMBER} is a line of any metric");
  }
}

void check_evaluations(const StudySettings& study, const std::string& file, Problems& problems) {
  const auto all_read = [&](TaskData data) {
    return std::ranges::all_of(study.runs, [data](const StudyRun& run) {
      return task_facts(run.settings.task).data == data;
    });
  };
  const auto refuse = [&](const char* key, const char* message) {
    problems.add(file, key, message);
  };
  if (study.evaluations.decodes() && !all_read(TaskData::parallel_text)) {
    refuse("evaluate.split",
           "without lengths is of translators; not all runs of this study are that");
  }
  if (!study.evaluations.lengths.empty() && !all_read(TaskData::prepared_text)) {
    refuse("evaluate.lengths", "are of language models; not all runs of this study are that");
  }
}

void refuse_idle_options(const std::vector<MatrixAxis>& axes, const std::vector<StudyRun>& runs,
                         Problems& problems) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    for (const MatrixValue& value : axes[axis].values) {
      for (const Assignment& one : value.assignments) {
        std::string scheme;
        std::set<std::string> chosen;
        const bool used = std::ranges::any_of(runs, [&](const StudyRun& run) {
          if (run.values[axis] != value.label) return false;
          const PositionSettings& position = run.settings.position;
          const Key* const key = find_key(one.key);
          if (key == nullptr || key->scheme().empty()) return true;
          scheme = key->scheme();
          chosen.insert(position.scheme);
          return uses_scheme(position, scheme) || uses_scheme(position.of_decoder(), scheme) ||
                 position.cross == scheme;
        });
        if (used || scheme.empty()) continue;
        problems.add(one.where, one.key,
                     fmt::format("is an option of {}, and the positions are {}", scheme,
                                 fmt::join(chosen, ", ")),
                     fmt::format("position: {} beside it, or leave it out", scheme));
      }
    }
  }
}

void refuse_idle_repeats(const std::vector<MatrixAxis>& axes, std::vector<StudyRun>& runs) {
  for (StudyRun& run : runs) {
    for (std::size_t axis = 0; axis < axes.size() && run.refusals.empty(); ++axis) {
      if (run.values[axis] == axes[axis].values.front().label) continue;
      if (const auto idle = idle_problem(run.settings, axes[axis].key)) run.refusals.add(*idle);
    }
  }
}

void report_refusals(const std::vector<StudyRun>& runs, Problems& problems) {
  const bool any_good =
      std::ranges::any_of(runs, [](const StudyRun& run) { return run.refusals.empty(); });
  if (any_good && problems.empty()) return;
  for (const StudyRun& run : runs) problems.add_all(run.refusals);
}

}  // namespace roformer
