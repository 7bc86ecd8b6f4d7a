#include "experiments/declaration/combinations.h"

#include <filesystem>
#include <map>
#include <memory>

#include "config/shorter_training.h"

namespace roformer {

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

}  // namespace roformer
