#include "runs/run_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksums.h"
#include "base/error.h"
#include "base/log.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/problems.h"
#include "config/words.h"
#include "runs/resume_rules.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string shown(const std::string& value) {
  return value.empty() ? "empty" : value;
}

// Warns if the file, which only names the run, differs from the run's stored settings.
void warn_of_file(const fs::path& file, const GivenValues& given, const Settings& stored) {
  for (const std::string& name : given.keys) {
    const Key& key = *find_key(name);
    const bool idle = !key.scheme().empty() && !uses_scheme(stored.position, key.scheme());
    const std::string here = key.get(given.settings), there = key.get(stored);
    if (name == "run" || name == "runs" || idle || here == there) continue;
    log::warn("{}: {} is {} in the stored run and {} here; the stored value holds{}", file.string(),
              name, shown(there), shown(here),
              may_change_when_resumed(key, stored) ? ", --" + name + " changes it" : std::string());
  }
}

void refuse_other_task(const fs::path& file, const GivenValues& given, const Settings& stored,
                       const fs::path& run) {
  if (std::ranges::find(given.keys, "task") == given.keys.end()) return;
  if (given.settings.task == stored.task) return;
  throw_usage(file.string(),
              fmt::format("task is {} here, and {} in the stored run {}",
                          to_word(given.settings.task), to_word(stored.task), run.string()),
              "--run NAME for a run of this file, or the file that the run was made with");
}

// Reports all flags that the rules refuse.
void refuse_changes(const Settings& stored, const Settings& wanted) {
  Problems problems;
  for (const std::string& name : diff(stored, wanted)) {
    const Key& key = *find_key(name);
    if (may_change_when_resumed(key, stored)) continue;
    const ResumeRule& rule = resume_rule_of(name);
    problems.add(
        {.where = "--" + name,
         .key = name,
         .message = fmt::format("is {} in the stored run, got {}; at --resume it {}",
                                shown(key.get(stored)), shown(key.get(wanted)),
                                rule.rule == AtResume::by_schema
                                    ? "must stay, since it decides what is trained"
                                    : rule.words),
         .hint =
             "leave it out, start another run with --run NAME, or start over with --overwrite"});
  }
  problems.throw_if_any();
}

}  // namespace

Settings read_run_settings(const fs::path& run_or_checkpoint) {
  const fs::path file = run_or_checkpoint / "config.yaml";
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw_failure(run_or_checkpoint.string(), "is no run and no checkpoint: it has no config.yaml",
                  "give the folder that `roformer train` made, for instance runs/quickstart");
  }
  if (fs::file_size(file, error) == 0) {
    throw_failure(file.string(), "is empty, and so damaged",
                  "`roformer train --resume --run NAME` brings it back from a checkpoint");
  }
  check_checksummed_lines(file);
  return load_settings(file);
}

Settings resumed_settings(const fs::path& file, const std::vector<Override>& flags) {
  const GivenValues given = load_values(file, flags);
  const fs::path run = given.settings.runs / given.settings.run;
  recover_run(run);
  require_run(run);
  std::vector<Override> changes;
  for (const Override& flag : flags) {  // drops `run` and `runs`: the place of the run is known
    if (flag.key != "run" && flag.key != "runs") changes.push_back(flag);
  }
  const fs::path config = run / "config.yaml";
  refuse_changes(read_run_settings(run), load_values(config, changes).settings);
  Settings settings = load_settings(config, changes);
  refuse_other_task(file, given, settings, run);
  warn_of_file(file, given, settings);
  settings.run = given.settings.run;
  settings.runs = given.settings.runs;
  return settings;
}

}  // namespace roformer
