#include "data/preparation_journal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sealed_json.h"
#include "base/version.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kJournalFormat = "roformer preparation";
constexpr int kJournalVersion = 1;

std::string sixteen_digits(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::string digest_of(const std::string& text) {
  return sixteen_digits(XXH3_64bits(text.data(), text.size()));
}

// Which files of folders and archives are read, and which of them are held out.
std::string choice_of_files(const PrepareOptions& options) {
  std::string choice = fmt::format("{}", options.corpus.skip_binary);
  for (const std::string& pattern : options.corpus.include) choice += '\n' + pattern;
  for (const auto* const inputs : {&options.validation_inputs, &options.test_inputs}) {
    choice += "\n\n";
    for (const fs::path& input : *inputs) choice += input.string() + '\n';
  }
  return digest_of(choice);
}

// Names, sizes and times of change.
std::string state_of_files(const std::vector<fs::path>& files) {
  std::string state;
  for (const fs::path& file : files) {
    std::error_code error;
    state +=
        fmt::format("{}\n{} {}\n", fs::absolute(file, error).string(), fs::file_size(file, error),
                    fs::last_write_time(file, error).time_since_epoch().count());
  }
  return digest_of(state);
}

[[noreturn]] void refuse_journal(const std::string& reason) {
  throw Error({.message = reason});
}

nlohmann::ordered_json finished_to_json(const FinishedShards& finished) {
  std::vector<std::string> shards;
  for (const std::uint64_t checksum : finished.so_far.shard_checksums) {
    shards.push_back(sixteen_digits(checksum));
  }
  const SplitCounts& counts = finished.so_far.counts;
  return {{"documents_of_corpus", finished.documents},
          {"text", sixteen_digits(finished.text)},
          {"counts",
           {counts.documents, counts.tokens, counts.characters, counts.bytes, counts.unknown}},
          {"shards", shards}};
}

// Throws what the JSON library or this does where a field is not as it was written.
std::uint64_t hash_from(const nlohmann::json& value) {
  return parse_hexadecimal(value).value();
}

FinishedShards finished_from_json(const nlohmann::json& json) {
  FinishedShards finished{.documents = json.at("documents_of_corpus").get<std::uint64_t>(),
                          .text = hash_from(json.at("text"))};
  const auto counts = json.at("counts").get<std::array<std::uint64_t, 5>>();
  finished.so_far.counts = {.documents = counts[0],
                            .tokens = counts[1],
                            .characters = counts[2],
                            .bytes = counts[3],
                            .unknown = counts[4]};
  for (const nlohmann::json& shard : json.at("shards")) {
    finished.so_far.shard_checksums.push_back(hash_from(shard));
  }
  return finished;
}

}  // namespace

PreparationIdentity identity_of(const PrepareOptions& options, const Tokenizer& tokenizer,
                                const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) return {};
  }
  const CorpusOptions& corpus = options.corpus;
  return {
      {"program", fmt::format("{} {}", kVersion, kCommit)},
      {"tokenizer", sixteen_digits(tokenizer.fingerprint())},
      {"reader", to_string(corpus.reader)},
      {"document separator", to_string(corpus.separator)},
      {"choice to remove repeats", fmt::format("{}", corpus.remove_repeats)},
      {"choice of files", choice_of_files(options)},
      {"validation fraction", fmt::format("{}", options.validation_fraction)},
      {"test fraction", fmt::format("{}", options.test_fraction)},
      {"division by bytes", fmt::format("{}", fmt::join(options.shares.bytes, " "))},
      {"seed", fmt::format("{}", options.seed)},
      {"size of shards", fmt::format("{}", options.shard_tokens)},
      {"corpus", state_of_files(files)},
  };
}

FinishedSplits PreparationJournal::recover() const {
  std::error_code error;
  FinishedSplits finished;
  if (fs::is_empty(folder_, error)) return finished;
  try {
    finished = read();
  } catch (const Error& problem) {
    const std::string file = fs::path(problem.parts().location).filename().string();
    begin_anew(file + (file.empty() ? "" : " ") + problem.parts().message);
    return {};
  }
  remove_others(finished);
  std::uint64_t tokens = 0;
  std::size_t shards = 0;
  for (const FinishedShards& split : finished) {
    tokens += split.so_far.counts.tokens;
    shards += split.so_far.shard_checksums.size();
  }
  log::info("going on where a killed process stopped: {} finished {} with {} tokens", shards,
            shards == 1 ? "shard" : "shards", format_count(static_cast<std::int64_t>(tokens)));
  return finished;
}

// Throws Error with the reason why there is nothing to go on with.
FinishedSplits PreparationJournal::read() const {
  FinishedSplits finished;
  PreparationIdentity identity;
  const fs::path file = folder_ / kPreparationJournal;
  try {
    const nlohmann::json json = read_sealed_json(file);
    const bool known = json.at("format") == kJournalFormat && json.at("version") == kJournalVersion;
    if (!known) refuse_journal("its journal is of another version");
    identity = json.at("identity").get<PreparationIdentity>();
    for (const Split split : kSplits) {
      finished[static_cast<std::size_t>(split)] =
          finished_from_json(json.at(std::string(to_string(split))));
    }
  } catch (const nlohmann::json::exception&) {
    refuse_journal("its journal is damaged");
  } catch (const std::bad_optional_access&) {
    refuse_journal("its journal is damaged");
  }
  if (identity_.empty()) refuse_journal("this corpus can be read only once");
  for (std::size_t i = 0; i < identity_.size(); ++i) {
    if (i < identity.size() && identity[i] == identity_[i]) continue;
    refuse_journal(fmt::format("the {} was another", identity_[i].first));
  }
  for (const Split split : kSplits) {
    const auto& checksums = finished[static_cast<std::size_t>(split)].so_far.shard_checksums;
    for (std::size_t i = 0; i < checksums.size(); ++i) {
      const Shard shard(folder_ / shard_name(split, i));
      shard.verify_checksum();
      if (shard.checksum() != checksums[i]) {
        throw_failure(shard_name(split, i), "is not what was written");
      }
    }
  }
  return finished;
}

void PreparationJournal::remove_others(const FinishedSplits& finished) const {
  std::set<std::string> kept = {kPreparationJournal};
  for (const Split split : kSplits) {
    const auto count = finished[static_cast<std::size_t>(split)].so_far.shard_checksums.size();
    for (std::size_t i = 0; i < count; ++i) kept.insert(shard_name(split, i));
  }
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

void PreparationJournal::write(const FinishedSplits& finished) const {
  if (identity_.empty()) return;
  nlohmann::ordered_json json = {{"format", kJournalFormat},
                                 {"version", kJournalVersion},
                                 {"identity", nlohmann::ordered_json(identity_)}};
  for (const Split split : kSplits) {
    json[std::string(to_string(split))] =
        finished_to_json(finished[static_cast<std::size_t>(split)]);
  }
  write_sealed_json(folder_ / kPreparationJournal, json);
}

}  // namespace roformer
