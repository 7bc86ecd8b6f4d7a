#include "data/preparation.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <set>

#include "base/checksums.h"
#include "base/hexadecimal.h"
#include "base/log.h"
#include "base/version.h"
#include "data/shard.h"
#include "text/translation_tokenizers.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kJournalFormat = "roformer preparation";
constexpr int kJournalVersion = 2;

[[noreturn]] void refuse_journal(const std::string& reason) {
  throw Error({.message = reason});
}

void remove_whole(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_failure(path.string(), "cannot remove: " + error.message());
}

// Names, sizes and times of change.
std::string state_of(const std::vector<fs::path>& files) {
  std::string state;
  for (const fs::path& file : files) {
    std::error_code error;
    state +=
        fmt::format("{}\n{} {}\n", fs::absolute(file, error).string(), fs::file_size(file, error),
                    fs::last_write_time(file, error).time_since_epoch().count());
  }
  return digest_of(state);
}

bool is_of_split(const std::string& name) {
  const auto ends = [&](const char* ending) { return name.ends_with(ending); };
  return (ends(".bin") || ends(".source.txt") || ends(".target.txt")) &&
         std::ranges::any_of(kSplits,
                             [&](Split split) { return name.starts_with(to_string(split)); });
}

// Whether every file is named like one that `data prepare` writes: shards, lines of sentence pairs,
// the description, the journal, tokenizers.
bool holds_only_prepared_files(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (name == "dataset.json" || name == kPreparationJournal || is_of_split(name)) continue;
    if (!is_tokenizer_entry(folder, name)) return false;
  }
  return !error;
}

}  // namespace

std::string digest_of(const std::string& text) {
  return hexadecimal(XXH3_64bits(text.data(), text.size()));
}

PreparationIdentity make_identity(const std::vector<fs::path>& files,
                                  const PreparationIdentity& choices) {
  const bool can_be_read_again = std::ranges::all_of(files, [](const fs::path& file) {
    std::error_code error;
    return fs::is_regular_file(file, error);
  });
  if (!can_be_read_again) return {};
  PreparationIdentity identity = {{"program", fmt::format("{} {}", kVersion, kCommit)}};
  identity.insert(identity.end(), choices.begin(), choices.end());
  identity.emplace_back("corpus", state_of(files));
  return identity;
}

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
    throw;  // the files may be intact: keep them
  } catch (const Error& problem) {
    const std::string file = fs::path(problem.parts().location).filename().string();
    start_over(file + (file.empty() ? "" : " ") + problem.parts().message);
    return false;
  }
  remove_others(shards);
  log::info("resuming where a killed process stopped: {} finished {} with {} tokens", shards.size(),
            shards.size() == 1 ? "shard" : "shards",
            format_count(static_cast<std::int64_t>(tokens)));
  return true;
}

// The state that was written. Throws Error with the reason why it cannot be used.
nlohmann::json PreparationJournal::read() const {
  const fs::path file = folder_ / kPreparationJournal;
  const nlohmann::json json = read_checksummed_json(file);
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

// Reads every byte of the shards; returns how many tokens they have.
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
  for (const fs::path& path : others) remove_whole(path);
}

void PreparationJournal::start_over(const std::string& reason) const {
  log::warn("starting over, because what a killed process left in {} cannot be used: {}",
            folder_.string(), reason);
  // The journal goes first: while it exists, everything that it names is intact.
  remove_whole(folder_ / kPreparationJournal);
  remove_others({});
}

void PreparationJournal::write(const nlohmann::ordered_json& state) const {
  if (identity_.empty()) return;
  write_checksummed_json(folder_ / kPreparationJournal,
                         {{"format", kJournalFormat},
                          {"version", kJournalVersion},
                          {"identity", nlohmann::ordered_json(identity_)},
                          {"state", state}});
}

OutputFolder::Options prepared_folder(const fs::path& output, bool overwrite,
                                      std::function<bool(const fs::path&)> holds_such_a_set) {
  return {.output = output,
          .overwrite = overwrite,
          .flag = "--output",
          .contents = "a prepared data set and nothing else",
          .is_replaceable =
              [holds = std::move(holds_such_a_set)](const fs::path& there) {
                return holds(there) && holds_only_prepared_files(there);
              },
          .journal = kPreparationJournal};
}

void require_fraction(const char* name, double fraction) {
  if (fraction >= 0 && fraction < 1) return;
  throw_usage(name, fmt::format("is {}, wanted at least 0 and less than 1", fraction));
}

void require_threads(std::int64_t threads) {
  if (threads < 1) throw_usage("threads", fmt::format("is {}, wanted at least 1", threads));
}

void refuse_empty_split(const std::string& location, Split split, const std::string& details,
                        const std::string& hint) {
  throw_failure(location, fmt::format("the {} set would be empty{}", to_string(split), details),
                hint);
}

void warn_of_missing_validation(const char* data) {
  log::warn(
      "there is no validation set, which training needs: prepare {} with "
      "--validation-fraction or --validation files",
      data);
}

}  // namespace roformer
