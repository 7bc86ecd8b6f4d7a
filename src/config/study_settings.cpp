#include "config/study_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "config/schema.h"
#include "config/study_axis.h"
#include "config/study_metrics.h"
#include "config/study_sections.h"
#include "config/suggest.h"
#include "config/yaml_file.h"

namespace roformer {
namespace {

constexpr std::size_t kMostRuns = 10'000;  // more is a slip, not a plan

// "rope", "seed1", "learning_rate0.001": the part of a run's name that an axis gives.
std::string name_part(const MatrixAxis& axis, const std::string& label) {
  const bool plain = axis.key == "position" || axis.key == "variant";
  std::string text = plain ? label : axis.key.substr(axis.key.rfind('.') + 1) + label;
  for (char& c : text) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    if (!kept) c = '_';
  }
  return text;
}

std::string folder_name(const std::string& path) {
  const std::filesystem::path folder = (std::filesystem::path(path) / "").lexically_normal();
  return folder.parent_path().filename().string();
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t comma; (comma = text.find(',', start)) != std::string::npos; start = comma + 1) {
    parts.push_back(text.substr(start, comma - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

// Flags with several values, or of an axis, become axes; the others are set in all runs.
std::vector<Assignment> apply_flags(const std::vector<Override>& overrides,
                                    std::vector<MatrixAxis>& axes) {
  std::vector<Assignment> common;
  for (const Assignment& flag : to_assignments(overrides)) {
    const std::vector<std::string> values = split_at_commas(flag.text);
    const auto known = std::find_if(axes.begin(), axes.end(), [&](const MatrixAxis& axis) {
      return axis.key == axis_key(flag.key);
    });
    if (values.size() == 1 && known == axes.end()) {
      common.push_back(flag);
      continue;
    }
    MatrixAxis axis{.key = axis_key(flag.key), .where = flag.where, .values = {}};
    for (const std::string& value : values) {
      Assignment one = flag;
      one.text = value;
      axis.values.push_back({.label = value, .assignments = {std::move(one)}});
    }
    if (known == axes.end()) {
      axes.push_back(std::move(axis));
    } else {
      *known = std::move(axis);
    }
  }
  return common;
}

// Folders are known by their own names where those differ: runs/a and runs/b are a and b.
void shorten_paths(std::vector<MatrixAxis>& axes) {
  for (MatrixAxis& axis : axes) {
    const Key* const key = find_key(axis.key);
    if (key == nullptr || key->type != KeyType::path) continue;
    std::set<std::string> names;
    for (const MatrixValue& value : axis.values) names.insert(folder_name(value.label));
    if (names.size() < axis.values.size() || names.contains("")) continue;
    for (MatrixValue& value : axis.values) value.label = folder_name(value.label);
  }
}

// An axis that study.choose or study.spread names must be there.
void require_axis(const std::string& key, const std::string& value,
                  const std::vector<MatrixAxis>& axes, const std::string& file,
                  Problems& problems) {
  const bool there =
      value.empty() || std::any_of(axes.begin(), axes.end(),
                                   [&](const MatrixAxis& axis) { return axis.key == value; });
  if (there) return;
  problems.add({.where = file,
                .key = key,
                .message = "\"" + value + "\" is not varied in this study",
                .hint = "a key of the matrix, or --" + value + " A,B"});
}

// The values that stand twice in an axis: two runs of one name.
void refuse_repeats(const std::vector<MatrixAxis>& axes, Problems& problems) {
  for (const MatrixAxis& axis : axes) {
    std::set<std::string> seen;
    for (const MatrixValue& value : axis.values) {
      if (seen.insert(name_part(axis, value.label)).second) continue;
      problems.add({.where = axis.where,
                    .key = axis.key,
                    .message = "\"" + value.label + "\" is there twice",
                    .hint = ""});
    }
  }
}

// A key that two axes set, or an axis and a flag that holds for all runs: the later axis would win
// in silence, and the other one's values would be names of runs and rows only.
void refuse_keys_set_twice(const std::vector<MatrixAxis>& axes,
                           const std::vector<Assignment>& flags, Problems& problems) {
  // True where the axis sets the key too, which is said once.
  const auto refuse = [&](const Assignment& given, const MatrixAxis& axis) {
    for (const MatrixValue& value : axis.values) {
      for (const Assignment& other : value.assignments) {
        if (!may_mean_the_same(given.key, other.key)) continue;
        problems.add({.where = other.where,
                      .key = other.key,
                      .message = "set twice, also by " + given.where,
                      .hint = "a key belongs to one axis of a study, and to no flag beside it"});
        return true;
      }
    }
    return false;
  };
  const auto compare = [&](const MatrixAxis& first, const MatrixAxis& second) {
    for (const MatrixValue& value : first.values) {
      for (const Assignment& assignment : value.assignments) {
        if (refuse(assignment, second)) return;
      }
    }
  };
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (const Assignment& flag : flags) refuse(flag, axes[i]);
    for (std::size_t j = i + 1; j < axes.size(); ++j) compare(axes[i], axes[j]);
  }
}

// A metric that none of the runs has would be an empty column after all of the training.
void refuse_unknown_metrics(const std::vector<NamedMetric>& metrics,
                            const std::vector<StudyRun>& runs, Problems& problems) {
  std::set<std::string> known;
  for (const StudyRun& run : runs) {
    for (std::string& name : run_figures(run.settings)) known.insert(std::move(name));
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const NamedMetric& metric : metrics) {
    const std::string base = median_of(metric.name).value_or(metric.name);
    if (metric.name.empty() || known.contains(base)) continue;
    const std::string near = suggestion(base, names);
    problems.add(
        {.where = metric.where,
         .key = metric.key,
         .message = "no run of this study has a figure \"" + metric.name + "\"",
         .hint = near.empty() ? fmt::format("they have {}", fmt::join(names, ", ")) : near});
  }
}

// Asks for each path once: many combinations start from the same model.
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
    run.name += (i ? "-" : "") + name_part(axes[i], chosen[i]->label);
    assignments.insert(assignments.end(), chosen[i]->assignments.begin(),
                       chosen[i]->assignments.end());
  }
  if (run.name.empty()) run.name = "run";
  add_source_keys(assignments, source_keys);
  Problems own;  // a combination is checked even when another one has shown a problem
  run.settings = resolve(assignments, own, run.refusals);
  problems.add_all(own);
  return run;
}

// Combinations that contradict themselves are rows that say so, unless nothing can be run anyway.
void report_refusals(const std::vector<StudyRun>& runs, Problems& problems) {
  const bool any_good = std::any_of(runs.begin(), runs.end(),
                                    [](const StudyRun& run) { return run.refusals.empty(); });
  if (any_good && problems.empty()) return;
  for (const StudyRun& run : runs) problems.add_all(run.refusals);
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
  YamlFile yaml = read_yaml_file(file, problems);
  std::vector<MatrixAxis> axes;
  const auto section = [&](const char* name) -> const YamlFile::Section* {
    const auto found = yaml.sections.find(name);
    return found == yaml.sections.end() ? nullptr : &found->second;
  };
  std::vector<NamedMetric> metrics;
  if (const YamlFile::Section* found = section("study")) {
    metrics = read_study_section(*found, study, problems);
  }
  if (const YamlFile::Section* found = section("matrix")) read_matrix(*found, axes, problems);
  if (const YamlFile::Section* found = section("variants")) read_variants(*found, axes, problems);
  if (const YamlFile::Section* found = section("evaluate")) {
    study.evaluations = read_study_evaluations(*found, problems);
  }

  std::vector<Override> settings_flags;
  for (const Override& flag : overrides) {
    if (flag.key == "run") {
      study.name = flag.text;  // `--run NAME` names the study, whose runs have names of their own
    } else {
      settings_flags.push_back(flag);
    }
  }
  const std::vector<Assignment> flags = apply_flags(settings_flags, axes);
  yaml.assignments.insert(yaml.assignments.end(), flags.begin(), flags.end());
  shorten_paths(axes);
  refuse_repeats(axes, problems);
  refuse_keys_set_twice(axes, flags, problems);
  require_axis("study.choose", study.choose, axes, file.string(), problems);
  require_axis("study.spread", study.spread, axes, file.string(), problems);
  std::size_t count = 1;
  for (const MatrixAxis& axis : axes) count = std::min(count * axis.values.size(), kMostRuns + 1);
  if (count > kMostRuns) {
    problems.add({.where = file.string(),
                  .key = "matrix",
                  .message = fmt::format("more than {} combinations", kMostRuns),
                  .hint = ""});
  }
  if (count <= kMostRuns) {
    const std::size_t before = problems.lines().size();
    const SourceKeys keys = remembered(source_keys);
    for (std::size_t index = 0; index < count; ++index) {
      study.runs.push_back(make_run(axes, index, yaml.assignments, keys, problems));
    }
    // Which figures there are depends on the task, and that may be what is wrong.
    if (problems.lines().size() == before) refuse_unknown_metrics(metrics, study.runs, problems);
  }
  report_refusals(study.runs, problems);
  problems.throw_if_any();
  study.folder = study.runs.front().settings.runs / study.name;
  for (StudyRun& run : study.runs) {
    run.settings.run = run.name;
    run.settings.runs /= study.trainings.empty() ? study.name : study.trainings;
  }
  for (const MatrixAxis& axis : axes) {
    study.axes.push_back({.key = axis.key, .values = {}});
    for (const MatrixValue& value : axis.values) study.axes.back().values.push_back(value.label);
  }
  return study;
}

}  // namespace roformer
