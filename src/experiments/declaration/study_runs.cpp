#include "experiments/declaration/study_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

namespace roformer {
namespace {

// The axes of the tuning's trainings: the axes of `per`, then the tuned keys.
std::vector<MatrixAxis> tuning_axes(const TuningSection& section,
                                    const std::vector<MatrixAxis>& axes) {
  std::vector<MatrixAxis> result;
  for (const MatrixAxis& axis : axes) {
    const bool named = std::ranges::find(section.per, axis.key) != section.per.end();
    if (section.per.empty() ? axis.key != kSeedAxis : named) result.push_back(axis);
  }
  result.insert(result.end(), section.values.begin(), section.values.end());
  return result;
}

std::string words_of(const std::vector<Assignment>& assignments) {
  std::string words;
  for (const Assignment& one : assignments) {
    words += (words.empty() ? "" : ", ") + one.key + " " + one.text;
  }
  return words;
}

// A seed that no run of the table has.
std::uint64_t free_seed(const StudySettings& study) {
  std::uint64_t seed = 1001;
  while (std::ranges::any_of(study.runs,
                             [&](const StudyRun& run) { return run.settings.seed == seed; })) {
    ++seed;
  }
  return seed;
}

}  // namespace

SourceKeys remembered(const SourceKeys& source_keys) {
  if (!source_keys) return {};
  auto answers = std::make_shared<std::map<std::filesystem::path, std::vector<Override>>>();
  return [source_keys, answers](const std::filesystem::path& from) {
    const auto known = answers->find(from);
    if (known != answers->end()) return known->second;
    return answers->emplace(from, source_keys(from)).first->second;
  };
}

StudyRun make_run(const std::vector<MatrixAxis>& axes, std::size_t index,
                  const std::vector<Assignment>& base, const SourceKeys& source_keys,
                  Problems& problems) {
  StudyRun run;
  std::vector<const MatrixValue*> chosen(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::size_t count = axes[i].values.size();
    chosen[i] = &axes[i].values[index % count];
    index /= count;
  }
  std::vector<Assignment> assignments = base;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    run.values.push_back(chosen[i]->label);
    run.asked &= axes[i].asks_for(chosen[i]->label);
    run.name += (i ? "-" : "") + name_part(axes[i], chosen[i]->label);
    assignments.insert(assignments.end(), chosen[i]->assignments.begin(),
                       chosen[i]->assignments.end());
  }
  if (run.name.find_first_not_of('.') == std::string::npos) run.name = "run" + run.name;
  add_source_keys(assignments, source_keys);
  run.notice = shorten_warmup(assignments);
  Problems own;  // a combination is checked even when another one has shown a problem
  run.settings = resolve(assignments, own, run.refusals);
  problems.add_all(own);
  return run;
}

std::vector<StudyAxis> axes_of(const std::vector<MatrixAxis>& axes) {
  std::vector<StudyAxis> result;
  for (const MatrixAxis& axis : axes) {
    result.push_back({.key = axis.key, .values = {}});
    for (const MatrixValue& value : axis.values) result.back().values.push_back(value.label);
  }
  return result;
}

StudySettings make_trials(const TuningSection& section, StudySettings& study,
                          const std::vector<MatrixAxis>& axes, const std::vector<Assignment>& base,
                          const SourceKeys& source_keys, Problems& problems) {
  const SourceKeys keys = remembered(source_keys);
  StudySettings trials{.name = study.name + ", tuning",
                       .metric = section.metric.name.empty() ? study.metric : section.metric.name};
  const std::vector<MatrixAxis> own = tuning_axes(section, axes);
  trials.axes = axes_of(own);
  std::vector<Assignment> fixed = base;
  // An axis that the choice does not depend on has its first value.
  for (const MatrixAxis& axis : axes) {
    if (axis_named(own, axis.key) != nullptr) continue;
    const std::vector<Assignment>& first = axis.values.front().assignments;
    fixed.insert(fixed.end(), first.begin(), first.end());
  }
  fixed.insert(fixed.end(), section.with.begin(), section.with.end());
  const std::size_t count = combinations_of(own);
  const std::size_t combinations = combinations_of(section.values);
  if (std::max(count, combinations * study.runs.size()) > kMostRuns) {
    problems.add(section.where, "tune.values", fmt::format("more than {} trainings", kMostRuns));
    return trials;
  }
  for (std::size_t index = 0; index < count; ++index) {
    trials.runs.push_back(make_run(own, index, fixed, keys, problems));
  }
  std::vector<MatrixAxis> all = axes;
  all.insert(all.end(), section.values.begin(), section.values.end());
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    StudyRun& run = study.runs[i];
    for (std::size_t k = 0; k < combinations; ++k) {
      StudyRun candidate = make_run(all, i * combinations + k, base, keys, problems);
      run.refusals.add_all(candidate.refusals);
      run.candidates.push_back(std::move(candidate.settings));
    }
    if (!run.candidates.empty()) run.settings = run.candidates.front();
  }
  return trials;
}

void check_trials(const TuningSection& section, const std::vector<MatrixAxis>& axes,
                  const std::vector<StudyRun>& trials, const StudySettings& study,
                  Problems& problems) {
  const auto add = [&](const std::string& key, const std::string& message,
                       const std::string& hint) {
    problems.add(section.where, key, message, hint);
  };
  if (!section.record.empty() && study.version == 0) {
    add("tune.record", "is of protocols, whose records say how their runs were made",
        "study.version: 1, or leave it out");
  }
  if (!section.start.empty()) {
    const bool one = section.values.size() == 1;
    std::vector<std::string> all;
    if (one) all = axes_of(section.values).front().values;
    if (!one || std::ranges::search(all, section.start).empty()) {
      add("tune.start", "is no part of the values of one key, in their order",
          "tune.values with one key and all values that may be tried, ascending");
    }
  }
  for (const std::string& key : section.per) {
    if (key == kSeedAxis || axis_named(axes, key) == nullptr) {
      add("tune.per", "\"" + key + "\" is no axis of this study", "a key of the matrix, not seed");
    }
  }
  for (const StudyRun& trial : trials) {
    for (const StudyRun& run : study.runs) {
      if (trial.settings.seed != run.settings.seed) continue;
      add("tune.with.seed", fmt::format("{} is a seed of the table", trial.settings.seed),
          fmt::format("choose with a seed that the table does not use, for instance {}",
                      free_seed(study)));
      return;
    }
  }
}

StudyTuning tuning_of(const TuningSection& section, StudySettings trials,
                      const StudySettings& study) {
  trials.folder = study.runs.front().settings.runs / "tuning";
  for (StudyRun& trial : trials.runs) {
    trial.settings.run = trial.name;
    trial.settings.runs = trials.folder;
  }
  StudyTuning result{
      .with = words_of(section.with), .record = section.record, .start = section.start};
  for (const MatrixAxis& axis : section.values) result.keys.push_back(axis.key);
  for (const StudyAxis& axis : trials.axes) result.per.push_back(axis.key);
  result.per.resize(result.per.size() - result.keys.size());
  result.study = std::make_shared<const StudySettings>(std::move(trials));
  return result;
}

}  // namespace roformer
