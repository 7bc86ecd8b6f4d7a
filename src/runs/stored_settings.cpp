#include "runs/stored_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/checksummed_lines.h"
#include "base/error.h"
#include "base/log.h"
#include "config/load.h"
#include "config/position_facts.h"
#include "config/problems.h"
#include "config/task_facts.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

std::string shown(const std::string& value) {
  return value.empty() ? "empty" : value;
}

// The file is there to name the run; that it says something else should not go unnoticed.
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

// A file of another task was not meant for this run.
void refuse_other_task(const fs::path& file, const GivenValues& given, const Settings& stored,
                       const fs::path& run) {
  if (std::ranges::find(given.keys, "task") == given.keys.end()) return;
  if (given.settings.task == stored.task) return;
  throw_usage(file.string(),
              fmt::format("task is {} here, and {} in the stored run {}",
                          to_word(given.settings.task), to_word(stored.task), run.string()),
              "--run NAME for a run of this file, or the file that the run was made with");
}

// All flags that a continuation cannot follow.
void refuse_changes(const Settings& stored, const Settings& wanted) {
  Problems problems;
  for (const std::string& name : diff(stored, wanted)) {
    const Key& key = *find_key(name);
    if (may_change_when_resumed(key, stored)) continue;
    problems.add({.where = "--" + name,
                  .key = name,
                  .message = fmt::format("is {} in the stored run, got {}", shown(key.get(stored)),
                                         shown(key.get(wanted))),
                  .hint = "leave it out, start another run with --run NAME, or begin again with "
                          "--overwrite"});
  }
  problems.throw_if_any();
}

}  // namespace

bool may_change_when_resumed(const Key& key, const Settings& stored) {
  constexpr std::array kOfSpeed = {"decoding.batch_tokens", "decoding.alignment_layer"};
  const TranslationRanking by = stored.translation.ranked_by;
  const bool decoded = by == TranslationRanking::bleu || by == TranslationRanking::chrf;
  const bool ranks = task_facts(stored.task).has_decoder && decoded &&
                     key.name.starts_with("decoding.") &&
                     std::ranges::find(kOfSpeed, key.name) == kOfSpeed.end();
  return key.may_change() && !ranks;
}

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
  for (const Override& flag : flags) {  // the run's place is known, whatever it was called before
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
