#include "config/stored_place.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/checksummed_lines.h"
#include "base/file.h"
#include "config/data_settings.h"
#include "config/schema.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The folder of the run that stored the file; nothing for a file that is anyone's.
std::optional<fs::path> run_of(const fs::path& file) {
  if (file.filename() != "config.yaml") return std::nullopt;
  const fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  if (folder.parent_path().filename() == "checkpoints") return folder.parent_path().parent_path();
  const bool stored = is_there(folder / "run.json") || is_there(folder / "checkpoints") ||
                      begins_with_seal(read_file(file, kLargestDescription));
  return stored ? std::optional(folder) : std::nullopt;
}

Assignment* assignment_of(const char* key, std::vector<Assignment>& assignments) {
  const auto found =
      std::ranges::find(assignments.rbegin(), assignments.rend(), key, &Assignment::key);
  return found == assignments.rend() ? nullptr : &*found;
}

// What was copied, from where to where.
class Move {
 public:
  Move(fs::path from, fs::path to) : from_(std::move(from)), to_(std::move(to)) {
    while (from_.has_relative_path() && to_.has_relative_path() &&
           from_.filename() == to_.filename()) {
      from_ = from_.parent_path();
      to_ = to_.parent_path();
    }
  }

  fs::path of(const fs::path& path) const {
    if (!path.is_absolute()) return path;
    const fs::path inside = path.lexically_relative(from_);
    if (inside.empty() || *inside.begin() == "..") return path;
    fs::path moved = (to_ / inside).lexically_normal();
    return is_there(moved) ? moved : path;
  }

 private:
  fs::path from_, to_;
};

void move_paths(const Move& move, Assignment& assignment) {
  const Key* const key = find_key(assignment.key);
  if (key == nullptr || assignment.text.empty()) return;
  if (key->type == KeyType::path) {
    assignment.text = move.of(assignment.text).string();
    return;
  }
  try {
    if (key->name == "stages") {
      std::vector<StageSettings> stages = parse_stages(assignment.text, assignment.folder);
      for (StageSettings& stage : stages) {
        if (!stage.directory.empty()) stage.directory = move.of(stage.directory);
      }
      assignment.text = print_stages(stages);
    } else if (key->name == "data.sources") {
      std::vector<DataSource> sources = parse_sources(assignment.text, assignment.folder);
      for (DataSource& source : sources) source.directory = move.of(source.directory);
      assignment.text = print_sources(sources);
    }
  } catch (const InvalidValue&) {
    // Reported where the assignment is applied.
  }
}

}  // namespace

void put_in_place(const fs::path& file, std::vector<Assignment>& assignments) {
  Assignment* const runs = assignment_of("runs", assignments);
  Assignment* const run = assignment_of("run", assignments);
  if (runs == nullptr || run == nullptr || run->text.empty()) return;
  const fs::path made = fs::path(runs->text) / run->text;
  const std::optional<fs::path> found = run_of(file);
  std::error_code error;
  if (!found || !made.is_absolute() || fs::equivalent(made, *found, error)) return;
  const Move move(made.lexically_normal(), *found);
  for (Assignment& assignment : assignments) {
    if (&assignment != runs && &assignment != run) move_paths(move, assignment);
  }
  runs->text = found->parent_path().string();
  run->text = found->filename().string();
}

}  // namespace roformer
