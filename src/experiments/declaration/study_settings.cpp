#include "experiments/declaration/study_settings.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "base/shipped.h"
#include "config/yaml_file.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_checks.h"
#include "experiments/declaration/study_runs.h"
#include "experiments/declaration/study_sections.h"

namespace roformer {
namespace {

// A study's file and the flags, before the combinations are formed.
struct StudyFile {
  std::vector<Assignment> base;  // of all runs
  std::vector<MatrixAxis> axes;
  bool replaced = false;  // flags replaced values of axes
  std::vector<NamedMetric> metrics;
  std::optional<TuningSection> tuning;
};

StudyFile read_study_file(const std::filesystem::path& file, const std::vector<Override>& overrides,
                          StudySettings& study, Problems& problems) {
  StudyFile result;
  YamlFile yaml = read_yaml_file(file, problems);
  const auto section = [&](const char* name) -> const YamlFile::Section* {
    const auto found = yaml.sections.find(name);
    return found == yaml.sections.end() ? nullptr : &found->second;
  };
  if (const auto* found = section("study")) {
    result.metrics = read_study_section(*found, study, problems);
  }
  if (const auto* found = section("matrix")) read_matrix(*found, "matrix", result.axes, problems);
  if (const auto* found = section("variants")) read_variants(*found, result.axes, problems);
  if (const auto* found = section("tune")) result.tuning = read_tuning(*found, problems);
  if (const auto* found = section("evaluate")) {
    study.evaluations = read_study_evaluations(*found, problems);
  }

  std::vector<Override> settings_flags;
  for (const Override& flag : overrides) {
    if (flag.key == "run") {
      study.name = flag.text;  // `--run NAME` names the study, whose runs are named by their values
    } else {
      settings_flags.push_back(flag);
    }
  }
  const std::vector<Assignment> flags =
      apply_flags(settings_flags, study.version > 0, result.axes, problems);
  result.replaced = flags.size() < settings_flags.size();
  result.base = std::move(yaml.assignments);
  result.base.insert(result.base.end(), flags.begin(), flags.end());

  shorten_paths(result.axes);
  refuse_repeats(result.axes, problems);
  // A tuned key may be neither an axis nor a flag.
  std::vector<MatrixAxis> varied = result.axes;
  if (result.tuning) {
    refuse_repeats(result.tuning->values, problems);
    varied.insert(varied.end(), result.tuning->values.begin(), result.tuning->values.end());
  }
  refuse_keys_set_twice(varied, flags, problems);
  return result;
}

void make_runs(const StudyFile& parts, const std::string& file, const SourceKeys& source_keys,
               StudySettings& study, Problems& problems) {
  const std::size_t count = combinations_of(parts.axes);
  if (count > kMostRuns) {
    problems.add(file, "matrix", fmt::format("more than {} combinations", kMostRuns));
    return;
  }
  require_reference(parts.axes, parts.replaced, study, file, problems);
  const std::size_t before = problems.lines().size();
  const SourceKeys keys = remembered(source_keys);
  for (std::size_t index = 0; index < count; ++index) {
    study.runs.push_back(make_run(parts.axes, index, parts.base, keys, problems));
  }
  if (problems.empty()) refuse_equal_names(study.runs, file, problems);
  refuse_idle_repeats(parts.axes, study.runs);
  // Flags may have removed the runs that use an option.
  if (problems.empty() && !parts.replaced) refuse_idle_options(parts.axes, study.runs, problems);
  // The task, on which the figures depend, may be wrong itself.
  if (problems.lines().size() == before) refuse_unknown_metrics(parts.metrics, study, problems);
}

// runs/STUDY/RUN, or the folder that the study names for its trainings.
void place_runs(StudySettings& study) {
  study.folder = study.runs.front().settings.runs / study.name;
  for (StudyRun& run : study.runs) {
    const auto put_below = [&](Settings& settings) {
      settings.run = run.name;
      settings.runs /= study.trainings.empty() ? study.name : study.trainings;
    };
    put_below(run.settings);
    for (Settings& candidate : run.candidates) put_below(candidate);
  }
}

// Logs each notice once, even if many runs have it.
void say_notices(const StudySettings& study) {
  std::set<std::string> said;
  for (const StudyRun& run : study.runs) {
    if (!run.notice.empty() && said.insert(run.notice).second) log::warn("{}", run.notice);
  }
}

}  // namespace

bool is_study(const std::filesystem::path& file) {
  Problems ignored;
  return !read_yaml_file(file, ignored).sections.empty();
}

StudySettings load_study(const std::filesystem::path& file, const std::vector<Override>& overrides,
                         const SourceKeys& source_keys) {
  Problems problems;
  StudySettings study;
  study.name = file.stem().string();
  study.file = file;
  const std::string name = file.string();
  const StudyFile parts = read_study_file(file, overrides, study, problems);
  require_axis("study.choose", study.choose, parts.axes, name, problems);
  require_axis("study.spread", study.spread, parts.axes, name, problems);
  check_names(study, name, problems);
  make_runs(parts, name, source_keys, study, problems);
  check_reference_lines(study, name, problems);
  check_evaluations(study, name, problems);
  StudySettings trials;
  if (parts.tuning) {
    trials = make_trials(*parts.tuning, study, parts.axes, parts.base, source_keys, problems);
    if (problems.empty()) {
      NamedMetric metric = parts.tuning->metric;
      if (metric.name.empty()) {
        metric = {.key = "tune.metric", .name = trials.metric, .where = parts.tuning->where};
      }
      refuse_unknown_metrics({metric}, trials, problems);
      check_trials(*parts.tuning, parts.axes, trials.runs, study, problems);
    }
  }
  report_refusals(study.runs, problems);
  problems.throw_if_any();
  say_notices(study);
  study.text = read_file(located(file), kLargestDescription);
  place_runs(study);
  study.axes = axes_of(parts.axes);
  if (parts.tuning) study.tuning = tuning_of(*parts.tuning, std::move(trials), study);
  return study;
}

}  // namespace roformer
