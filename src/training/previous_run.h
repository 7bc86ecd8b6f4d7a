// The run that another one is to overwrite. It is kept inside the folder until the new one has
// shown that it works, and comes back where that fails first: a batch that does not fit into the
// memory must not cost the checkpoints of last week. Whatever system call the process is killed in,
// the next one that opens the folder finds the old run or the new one.
//
//   .previous.partial   some of the old run's files, on their way there or back; the others are
//                       where they were
//   .previous           all of them; what lies beside it is the new run's
//   .outdated           the old run's, on their way out
#pragma once

#include <filesystem>
#include <functional>

#include "base/inner_path.h"

namespace roformer {

class PreviousRun {
 public:
  // True for the names, at the top of the folder, that are a run's.
  using IsOurs = std::function<bool(const std::filesystem::path& name)>;

  // Puts the run's files aside. The folder must be locked.
  PreviousRun(std::filesystem::path folder, IsOurs is_ours);
  // Puts them back in the new run's place, unless they were discarded.
  ~PreviousRun();
  PreviousRun(const PreviousRun&) = delete;
  PreviousRun& operator=(const PreviousRun&) = delete;

  // Removes them: the new run stands on its own.
  void discard();
  bool is_discarded() const { return discarded_; }

  // Whether a process was killed before it had put things in order.
  static bool needs_recovery(const std::filesystem::path& folder);
  // Puts them in order. The folder must be locked.
  static void recover(const std::filesystem::path& run, const IsOurs& is_ours);
  // True for the names above.
  static bool is_aside(const std::filesystem::path& name);

 private:
  InnerPath folder_;
  IsOurs is_ours_;
  bool discarded_ = false;
};

}  // namespace roformer
