// What is whole of a data set in the making, so that a preparation that was killed goes on instead
// of beginning anew. Every time a shard is finished and synced, the journal in the folder is
// replaced by one that counts it. The next process reads the corpus again from its beginning, which
// takes a small part of the time that tokenising does and leaves nothing to be stored of the
// splitter's, the archives' and the repeated lines' state; it tokenises only what is in no finished
// shard, and compares what it reads with what was read then.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/preparation_identity.h"

namespace roformer {

class JsonFields;

// Name of the file in the folder.
inline constexpr const char* kPreparationJournal = "preparation.json";

// A shard that is whole, by its name in the folder.
struct FinishedShard {
  std::string name;
  std::uint64_t checksum = 0;
};

class PreparationJournal {
 public:
  PreparationJournal(std::filesystem::path folder, PreparationIdentity identity)
      : folder_(std::move(folder)), identity_(std::move(identity)) {}

  // Gives `take` the state that a killed process with the same identity wrote last; take returns
  // the shards that the state is of, and throws Error where it cannot be read. True when each of
  // these was read whole; all else in the folder is removed then. False where there is nothing to
  // go on with: what was taken does not count, everything is removed, and a line says why.
  bool recover(
      const std::function<std::vector<FinishedShard>(const JsonFields& state)>& take) const;
  void write(const nlohmann::ordered_json& state) const;
  // Removes what is in the folder, after a line that says why.
  void begin_anew(const std::string& reason) const;

 private:
  std::filesystem::path folder_;
  PreparationIdentity identity_;

  nlohmann::json read() const;
  std::uint64_t check(const std::vector<FinishedShard>& shards) const;
  void remove_others(const std::vector<FinishedShard>& shards) const;
};

// The corpus is not what it was when the finished shards were made.
class CorpusChanged : public Error {
 public:
  CorpusChanged() : Error({.message = "the corpus is not what it was"}) {}
};

}  // namespace roformer
