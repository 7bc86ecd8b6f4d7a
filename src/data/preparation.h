// The driver that prepares every kind of data set: text (prepare.h), sentence pairs
// (prepare_pairs.h) and triplets (triplet_maker.h). Each kind supplies its reader, its rules and
// its writer; the driver supplies the progress bar, the output folder, the journal and the
// recovery.
// The folder gets its name only when it is complete. Whenever a shard is finished and synced, a new
// journal that counts it replaces the old one in the folder. If the process is killed, the next one
// reads the corpus from its beginning again, tokenises only the text that no finished shard holds,
// and compares the text with the earlier reading. Reading is a small part of the work, so the
// journal stores no state of splitters, archives or repeated lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "base/file.h"
#include "base/output_folder.h"
#include "base/progress.h"
#include "data/split.h"

namespace roformer {

// Name of the journal in the folder.
inline constexpr const char* kPreparationJournal = "preparation.json";

// Everything that decides the contents of the shards, each item with a name for messages: build of
// the program, tokenizer, options, files with their sizes and times. A killed preparation is
// resumed only if all items are the same. Empty if the corpus can be read only once.
using PreparationIdentity = std::vector<std::pair<std::string, std::string>>;

// The build of the program, the choices, and the state of the files that are read.
PreparationIdentity make_identity(const std::vector<std::filesystem::path>& files,
                                  const PreparationIdentity& choices);
// A hash of many choices, as one text.
std::string digest_of(const std::string& text);

// A complete shard, by its name in the folder.
struct FinishedShard {
  std::string name;
  std::uint64_t checksum = 0;
};

class PreparationJournal {
 public:
  PreparationJournal(std::filesystem::path folder, PreparationIdentity identity)
      : folder_(std::move(folder)), identity_(std::move(identity)) {}

  // Passes the last state that a killed process with the same identity wrote to `take`, which
  // returns the shards of that state and throws Error if it cannot read the state. Returns true if
  // all these shards are intact, after removing everything else in the folder. Returns false if
  // nothing can be resumed: it then removes everything and logs why, and the caller must discard
  // the taken state.
  bool recover(
      const std::function<std::vector<FinishedShard>(const JsonFields& state)>& take) const;
  void write(const nlohmann::ordered_json& state) const;
  // Logs the reason and empties the folder.
  void start_over(const std::string& reason) const;

 private:
  std::filesystem::path folder_;
  PreparationIdentity identity_;

  nlohmann::json read() const;
  std::uint64_t check(const std::vector<FinishedShard>& shards) const;
  void remove_others(const std::vector<FinishedShard>& shards) const;
};

// The corpus differs from the one that the finished shards came from.
class CorpusChanged : public Error {
 public:
  CorpusChanged() : Error({.message = "the corpus is not what it was"}) {}
};

// A progress bar over the bytes of all files. The files are read in several passes.
class ReadingBar {
 public:
  ReadingBar(const std::string& title, std::uint64_t total) : bar_(title, total, "B") {}

  void advance(std::uint64_t bytes_of_pass) { bar_.advance_to(done_ = finished_ + bytes_of_pass); }
  void end_pass() { finished_ = done_; }
  void finish() { bar_.finish(done_); }

 private:
  ProgressBar bar_;
  std::uint64_t done_ = 0;
  std::uint64_t finished_ = 0;
};

// The folder of a prepared data set. It may replace a folder for which `holds_such_a_set` is true
// and in which preparations wrote all files.
OutputFolder::Options prepared_folder(
    const std::filesystem::path& output, bool overwrite,
    std::function<bool(const std::filesystem::path&)> holds_such_a_set);

// Throws Error (usage) unless 0 <= fraction < 1.
void require_fraction(const char* name, double fraction);
void require_threads(std::int64_t threads);
[[noreturn]] void refuse_empty_split(const std::string& location, Split split,
                                     const std::string& details, const std::string& hint);
void warn_of_missing_validation(const char* data);

// State of a kind that writes no shards and so is never resumed.
struct NothingFinished {};
inline nlohmann::ordered_json to_json(const NothingFinished&) {
  return {};
}
inline std::vector<FinishedShard> read_finished(const JsonFields&, NothingFinished&) {
  return {};
}

// One kind of data set. Its `Finished` needs to_json(), which the journal stores, and the inverse
// read_finished(), which returns the shards.
template <class Finished, class Description>
struct Preparation {
  OutputFolder::Options place;
  PreparationIdentity identity;
  // Reads the corpus and writes every unfinished shard. Calls `on_finished` after each.
  std::function<Description(const std::filesystem::path& folder, const Finished& finished,
                            const std::function<void(const Finished&)>& on_finished)>
      write;
  // Throws Error if the result cannot be used, and warns about doubtful results.
  std::function<void(const Description&)> check;
  // Writes the tokenizers and the description.
  std::function<void(const Description&, const std::filesystem::path& folder)> describe;
};

template <class Finished, class Description>
Description run_preparation(const Preparation<Finished, Description>& kind) {
  OutputFolder folder(kind.place);
  const PreparationJournal journal(folder.path(), kind.identity);
  const auto write = [&](const Finished& finished) {
    return kind.write(folder.path(), finished,
                      [&](const Finished& now) { journal.write(to_json(now)); });
  };
  Description description;
  try {
    Finished finished{};
    const bool resumes =
        journal.recover([&](const JsonFields& state) { return read_finished(state, finished); });
    description = write(resumes ? finished : Finished{});
  } catch (const CorpusChanged& problem) {
    journal.start_over(problem.parts().message);
    description = write({});
  } catch (const ReadError&) {  // the finished shards may be readable later
    if (folder.is_begun()) folder.leave();
    throw;
  }
  kind.check(description);
  kind.describe(description, folder.path());
  folder.commit();
  return description;
}

}  // namespace roformer
