#include "data/preparation_journal.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checksummed_json.h"
#include "base/file.h"
#include "base/fields.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/shard.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kJournalFormat = "roformer preparation";
constexpr int kJournalVersion = 2;

[[noreturn]] void refuse_journal(const std::string& reason) {
  throw Error({.message = reason});
}

}  // namespace

bool PreparationJournal::recover(
    const std::function<std::vector<FinishedShard>(const JsonFields&)>& take) const {
  std::error_code error;
  if (fs::is_empty(folder_, error)) return false;
  std::vector<FinishedShard> shards;
  std::uint64_t tokens = 0;
  try {
    const nlohmann::json state = read();
    shards = take(JsonFields(state, (folder_ / kPreparationJournal).string()));
    tokens = check(shards);
  } catch (const ReadError&) {
    throw;  // it may be whole: nothing is given up
  } catch (const Error& problem) {
    const std::string file = fs::path(problem.parts().location).filename().string();
    begin_anew(file + (file.empty() ? "" : " ") + problem.parts().message);
    return false;
  }
  remove_others(shards);
  log::info("going on where a killed process stopped: {} finished {} with {} tokens", shards.size(),
            shards.size() == 1 ? "shard" : "shards",
            format_count(static_cast<std::int64_t>(tokens)));
  return true;
}

// The state that was written. Throws Error with the reason why there is nothing to go on with.
nlohmann::json PreparationJournal::read() const {
  const fs::path file = folder_ / kPreparationJournal;
  nlohmann::json json = read_checksummed_json(file);
  const JsonFields fields(json, file.string());
  if (fields.any("format") != kJournalFormat || fields.any("version") != kJournalVersion) {
    refuse_journal("its journal is of another version");
  }
  if (identity_.empty()) refuse_journal("this corpus can be read only once");
  const nlohmann::json& identity = fields.list("identity");
  for (std::size_t i = 0; i < identity_.size(); ++i) {
    if (i < identity.size() && identity[i] == nlohmann::json(identity_[i])) continue;
    refuse_journal("the " + identity_[i].first + " was another");
  }
  return fields.any("state");
}

// Reads the shards whole; returns how many tokens they have.
std::uint64_t PreparationJournal::check(const std::vector<FinishedShard>& shards) const {
  std::uint64_t tokens = 0;
  for (const FinishedShard& finished : shards) {
    const Shard shard(folder_ / finished.name);
    shard.verify_checksum();
    if (shard.checksum() != finished.checksum) {
      throw_failure(finished.name, "is not what was written");
    }
    tokens += shard.tokens();
  }
  return tokens;
}

void PreparationJournal::remove_others(const std::vector<FinishedShard>& shards) const {
  std::set<std::string> kept = {kPreparationJournal};
  for (const FinishedShard& shard : shards) kept.insert(shard.name);
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    if (!kept.contains(entry.path().filename().string())) others.push_back(entry.path());
  }
  for (const fs::path& path : others) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) throw_failure(path.string(), "cannot remove: " + error.message());
  }
}

void PreparationJournal::begin_anew(const std::string& reason) const {
  log::warn("what a killed process left in {} is not gone on with: {}; beginning anew",
            folder_.string(), reason);
  // The journal first: as long as it is there, what it names is whole.
  std::error_code error;
  fs::remove(folder_ / kPreparationJournal, error);
  if (error) {
    throw_failure((folder_ / kPreparationJournal).string(), "cannot remove: " + error.message());
  }
  remove_others({});
}

void PreparationJournal::write(const nlohmann::ordered_json& state) const {
  if (identity_.empty()) return;
  write_checksummed_json(folder_ / kPreparationJournal, {{"format", kJournalFormat},
                                                    {"version", kJournalVersion},
                                                    {"identity", nlohmann::ordered_json(identity_)},
                                                    {"state", state}});
}

}  // namespace roformer
