#include "config/study_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "config/check.h"
#include "config/schema.h"
#include "config/shorthand.h"
#include "config/study_axis.h"
#include "config/study_metrics.h"
#include "config/study_sections.h"
#include "config/study_tuning.h"
#include "config/suggest.h"
#include "config/task_facts.h"
#include "config/yaml_file.h"

namespace roformer {
namespace {

constexpr std::size_t kMostRuns = 10'000;  // more is a slip, not a plan

// No more is counted than that it is too much.
std::size_t combinations_of(const std::vector<MatrixAxis>& axes) {
  std::size_t count = 1;
  for (const MatrixAxis& axis : axes) count = std::min(count * axis.values.size(), kMostRuns + 1);
  return count;
}

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

// Commas inside brackets belong to a value: min(a, b), {0-2: rope, 3: none}.
std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts(1);
  int open = 0;
  for (const char c : text) {
    open += c == '(' || c == '[' || c == '{';
    open -= c == ')' || c == ']' || c == '}';
    if (c == ',' && open <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The values that a flag names beside those that the axis has.
void widen(MatrixAxis& axis, MatrixAxis flag) {
  for (MatrixValue& value : flag.values) {
    axis.asked.push_back(value.label);
    const bool there =
        std::any_of(axis.values.begin(), axis.values.end(),
                    [&](const MatrixValue& other) { return other.label == value.label; });
    if (!there) axis.values.push_back(std::move(value));
  }
}

// Flags with several values, or of an axis, become axes, or widen those of a protocol; the others
// are set in all runs.
std::vector<Assignment> apply_flags(const std::vector<Override>& overrides, bool protocol,
                                    std::vector<MatrixAxis>& axes, Problems& problems) {
  std::vector<Assignment> common;
  for (const Assignment& flag : to_assignments(overrides)) {
    const std::vector<std::string> values = split_at_commas(flag.text);
    // A formula is a value of the axis of schemes, where there is one.
    const auto known = std::find_if(axes.begin(), axes.end(), [&](const MatrixAxis& axis) {
      return axis.key == (is_shorthand(flag.key) ? "position" : axis_key(flag.key));
    });
    if (values.size() == 1 && known == axes.end()) {
      common.push_back(flag);
      continue;
    }
    MatrixAxis axis{.key = known == axes.end() ? axis_key(flag.key) : known->key,
                    .where = flag.where,
                    .values = {}};
    for (const std::string& value : values) {
      Assignment one = flag;
      one.text = value;
      axis.values.push_back({.label = value_label(one.key, value),
                             .assignments = expand_shorthands({one}, problems)});
    }
    if (known == axes.end()) {
      axes.push_back(std::move(axis));
    } else if (protocol) {
      widen(*known, std::move(axis));
    } else {
      *known = std::move(axis);
    }
  }
  return expand_shorthands(common, problems);
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

// "rope" of position, or "rope, 1e4" of position and base: as rows are titled, without what never
// tells rows apart.
std::vector<std::string> row_names(const std::vector<MatrixAxis>& axes,
                                   const StudySettings& study) {
  std::vector<std::string> titles{""};
  for (const MatrixAxis& axis : axes) {
    if (axis.key == "seed" || axis.key == study.spread || axis.key == study.choose) continue;
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

// study.reference must name a row, or the value of one axis. Where flags have replaced the values
// of axes it may be gone with them: then the study has none.
void require_reference(const std::vector<MatrixAxis>& axes, bool replaced, StudySettings& study,
                       const std::string& file, Problems& problems) {
  if (study.reference.empty()) return;
  std::vector<std::string> names = row_names(axes, study);
  std::size_t owners = 0;
  for (const MatrixAxis& axis : axes) {
    if (axis.key == "seed" || axis.key == study.spread || axis.key == study.choose) continue;
    for (const MatrixValue& value : axis.values) {
      owners += value.label == study.reference;
      names.push_back(value.label);
    }
  }
  const bool titled = std::find(names.begin(), names.end(), study.reference) != names.end();
  if (titled && owners < 2) return;
  if (!titled && replaced) {
    study.reference.clear();
    return;
  }
  problems.add({.where = file,
                .key = "study.reference",
                .message = "\"" + study.reference +
                           (titled ? "\" is a value of several axes" : "\" names no row"),
                .hint = titled ? "the whole title of a row" : suggestion(study.reference, names)});
}

// The loss of word frequencies is of prepared text, and beside losses and their bits only.
void check_reference_lines(const StudySettings& study, const std::string& file,
                           Problems& problems) {
  for (const StudyReferenceLine& line : study.reference_lines) {
    if (line.value || study.runs.empty()) continue;
    const bool text = std::all_of(study.runs.begin(), study.runs.end(), [](const StudyRun& run) {
      return task_facts(run.settings.task).evaluates_text;
    });
    const bool of_loss = study.metric == "validation_loss" ||
                         study.metric == "bits_per_character" || study.metric == "bits_per_byte";
    if (text && of_loss) continue;
    problems.add({.where = file,
                  .key = "study.reference_lines",
                  .message = "unigram is a loss of text, this study's metric is " + study.metric,
                  .hint = "{label: WORDS, value: NUMBER} is a line of any metric"});
  }
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
void refuse_unknown_metrics(const std::vector<NamedMetric>& metrics, const StudySettings& study,
                            Problems& problems) {
  std::set<std::string> known;
  for (const StudyRun& run : study.runs) {
    for (std::string& name : run_figures(run.settings)) known.insert(std::move(name));
    if (!study.evaluations.of_test()) continue;
    for (const std::int64_t length : study.evaluations.lengths) {
      known.insert(test_loss_at(length, run.settings));
    }
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
    run.asked &= axes[i].asks_for(chosen[i]->label);
    run.name += (i ? "-" : "") + name_part(axes[i], chosen[i]->label);
    assignments.insert(assignments.end(), chosen[i]->assignments.begin(),
                       chosen[i]->assignments.end());
  }
  if (run.name.find_first_not_of('.') == std::string::npos) run.name = "run" + run.name;
  add_source_keys(assignments, source_keys);
  Problems own;  // a combination is checked even when another one has shown a problem
  run.settings = resolve(assignments, own, run.refusals);
  problems.add_all(own);
  return run;
}

const MatrixAxis* axis_named(const std::vector<MatrixAxis>& axes, const std::string& key) {
  const auto found = std::find_if(axes.begin(), axes.end(),
                                  [&](const MatrixAxis& axis) { return axis.key == key; });
  return found == axes.end() ? nullptr : &*found;
}

// What the section names must be there, and its seed must not be one of the table's.
void check_tuning(const TuningSection& section, const std::vector<MatrixAxis>& axes,
                  const std::vector<StudyRun>& trials, const std::vector<StudyRun>& runs,
                  Problems& problems) {
  const auto add = [&](const std::string& key, const std::string& message,
                       const std::string& hint) {
    problems.add({.where = section.where, .key = key, .message = message, .hint = hint});
  };
  for (const std::string& key : section.per) {
    if (key == "seed" || axis_named(axes, key) == nullptr) {
      add("tune.per", "\"" + key + "\" is no axis of this study", "a key of the matrix, not seed");
    }
  }
  for (const StudyRun& trial : trials) {
    for (const StudyRun& run : runs) {
      if (trial.settings.seed != run.settings.seed) continue;
      add("tune.with.seed", fmt::format("{} is a seed of the table", trial.settings.seed),
          "choose with a seed that the table does not use, for instance 1001");
      return;
    }
  }
}

// The study's folder and that of its trainings lie in `runs`.
void check_names(const StudySettings& study, const std::string& file, Problems& problems) {
  for (const auto& [key, name] :
       {std::pair("study.name", &study.name), std::pair("study.trainings", &study.trainings)}) {
    if (is_folder_name(*name)) continue;
    problems.add({.where = file,
                  .key = key,
                  .message = fmt::format("got \"{}\", wanted the name of one folder", *name),
                  .hint = "the folder around it is `runs`"});
  }
}

// "a-b" and "c" make the same name as "a" and "b-c".
void refuse_equal_names(const std::vector<StudyRun>& runs, const std::string& file,
                        Problems& problems) {
  std::set<std::string> names;
  for (const StudyRun& run : runs) {
    if (names.insert(run.name).second) continue;
    problems.add({.where = file,
                  .key = "matrix",
                  .message = "two of the runs are called \"" + run.name + "\"",
                  .hint = "other names of variants"});
  }
}

// The axes of the tuning's trainings: those that it is done per, then the tuned keys.
std::vector<MatrixAxis> tuning_axes(const TuningSection& section,
                                    const std::vector<MatrixAxis>& axes) {
  std::vector<MatrixAxis> result;
  for (const MatrixAxis& axis : axes) {
    const bool named =
        std::find(section.per.begin(), section.per.end(), axis.key) != section.per.end();
    if (section.per.empty() ? axis.key != "seed" : named) result.push_back(axis);
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

// Lengths are of language models, a split without them of translators.
void check_evaluations(const StudySettings& study, const std::string& file, Problems& problems) {
  const auto all = [&](bool TaskFacts::*can) {
    return std::all_of(study.runs.begin(), study.runs.end(),
                       [can](const StudyRun& run) { return task_facts(run.settings.task).*can; });
  };
  const auto refuse = [&](const char* key, const char* message) {
    problems.add({.where = file, .key = key, .message = message, .hint = ""});
  };
  if (study.evaluations.decodes() && !all(&TaskFacts::translates)) {
    refuse("evaluate.split",
           "without lengths is of translators; not all runs of this study are that");
  }
  if (!study.evaluations.lengths.empty() && !all(&TaskFacts::evaluates_text)) {
    refuse("evaluate.lengths", "are of language models; not all runs of this study are that");
  }
}

// Combinations that contradict themselves are rows that say so, unless nothing can be run anyway.
void report_refusals(const std::vector<StudyRun>& runs, Problems& problems) {
  const bool any_good = std::any_of(runs.begin(), runs.end(),
                                    [](const StudyRun& run) { return run.refusals.empty(); });
  if (any_good && problems.empty()) return;
  for (const StudyRun& run : runs) problems.add_all(run.refusals);
}

std::vector<StudyAxis> axes_of(const std::vector<MatrixAxis>& axes) {
  std::vector<StudyAxis> result;
  for (const MatrixAxis& axis : axes) {
    result.push_back({.key = axis.key, .values = {}});
    for (const MatrixValue& value : axis.values) result.back().values.push_back(value.label);
  }
  return result;
}

// The trainings that `tune:` takes; gives every run of the table its candidates.
StudySettings tuning_study(const TuningSection& section, StudySettings& study,
                           const std::vector<MatrixAxis>& axes, const std::vector<Assignment>& base,
                           const SourceKeys& source_keys, Problems& problems) {
  const SourceKeys keys = remembered(source_keys);
  StudySettings trials{.name = study.name + ", tuning",
                       .metric = section.metric.empty() ? study.metric : section.metric};
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
    problems.add({.where = section.where,
                  .key = "tune.values",
                  .message = fmt::format("more than {} trainings", kMostRuns),
                  .hint = ""});
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
  std::optional<TuningSection> tuning;
  if (const YamlFile::Section* found = section("tune")) tuning = read_tuning(*found, problems);
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
  const std::vector<Assignment> flags =
      apply_flags(settings_flags, study.version > 0, axes, problems);
  yaml.assignments.insert(yaml.assignments.end(), flags.begin(), flags.end());
  shorten_paths(axes);
  refuse_repeats(axes, problems);
  if (tuning) {
    // A tuned key is no axis and no flag beside.
    std::vector<MatrixAxis> all = axes;
    all.insert(all.end(), tuning->values.begin(), tuning->values.end());
    refuse_repeats(tuning->values, problems);
    refuse_keys_set_twice(all, flags, problems);
  } else {
    refuse_keys_set_twice(axes, flags, problems);
  }
  require_axis("study.choose", study.choose, axes, file.string(), problems);
  require_axis("study.spread", study.spread, axes, file.string(), problems);
  check_names(study, file.string(), problems);
  const std::size_t count = combinations_of(axes);
  if (count > kMostRuns) {
    problems.add({.where = file.string(),
                  .key = "matrix",
                  .message = fmt::format("more than {} combinations", kMostRuns),
                  .hint = ""});
  }
  if (count <= kMostRuns) {
    require_reference(axes, flags.size() < settings_flags.size(), study, file.string(), problems);
    const std::size_t before = problems.lines().size();
    const SourceKeys keys = remembered(source_keys);
    for (std::size_t index = 0; index < count; ++index) {
      study.runs.push_back(make_run(axes, index, yaml.assignments, keys, problems));
    }
    if (problems.empty()) refuse_equal_names(study.runs, file.string(), problems);
    // Which figures there are depends on the task, and that may be what is wrong.
    if (problems.lines().size() == before) refuse_unknown_metrics(metrics, study, problems);
  }
  check_reference_lines(study, file.string(), problems);
  check_evaluations(study, file.string(), problems);
  StudySettings trials;
  if (tuning) {
    trials = tuning_study(*tuning, study, axes, yaml.assignments, source_keys, problems);
    if (problems.empty()) check_tuning(*tuning, axes, trials.runs, study.runs, problems);
  }
  report_refusals(study.runs, problems);
  problems.throw_if_any();
  study.folder = study.runs.front().settings.runs / study.name;
  for (StudyRun& run : study.runs) {
    const auto name = [&](Settings& settings) {
      settings.run = run.name;
      settings.runs /= study.trainings.empty() ? study.name : study.trainings;
    };
    name(run.settings);
    for (Settings& candidate : run.candidates) name(candidate);
  }
  study.axes = axes_of(axes);
  if (tuning) {
    trials.folder = study.runs.front().settings.runs / "tuning";
    for (StudyRun& trial : trials.runs) {
      trial.settings.run = trial.name;
      trial.settings.runs = trials.folder;
    }
    StudyTuning result{.with = words_of(tuning->with)};
    for (const MatrixAxis& axis : tuning->values) result.keys.push_back(axis.key);
    for (const StudyAxis& axis : trials.axes) result.per.push_back(axis.key);
    result.per.resize(result.per.size() - result.keys.size());
    result.study = std::make_shared<const StudySettings>(std::move(trials));
    study.tuning = std::move(result);
  }
  return study;
}

}  // namespace roformer
