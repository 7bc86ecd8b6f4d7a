// A folder that is written beside its place and appears there only when it is complete, as
// AtomicFile does for one file. Whatever system call the process is killed in, the place holds the
// old folder or the new one, whole, and the next process that writes there clears up.
//
//   OUTPUT.lock      held by the process that writes (the kernel frees it when that is killed);
//                    as long as the file says so, the two below are this program's to remove
//   OUTPUT.partial   what is being written; exchanged with OUTPUT in one step (RENAME_EXCHANGE)
//   OUTPUT.previous  the old folder, only on file systems that cannot exchange: for a moment
//                    OUTPUT is not there then, and the next process that writes puts it back
//
// Work that takes long keeps a journal in the folder, of what is whole in it. Then what a killed
// process left in OUTPUT.partial stays for the next one to go on with.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace roformer {

class OutputFolder {
 public:
  struct Options {
    std::filesystem::path output;
    bool overwrite = false;  // replace what is there
    std::string flag;        // names the output in hints; "" where it is an argument
    std::string contents;    // of what may be replaced: "a prepared data set"
    // True for a folder with such contents; nothing else is ever replaced but an empty folder.
    std::function<bool(const std::filesystem::path&)> is_replaceable;
    // Name of the file in the folder that tells what is whole in it; "" where there is none. It is
    // no part of the finished folder.
    std::string journal = {};
  };
  // Makes OUTPUT.partial, empty but where a killed process left a journal in it. Throws Error when
  // OUTPUT exists and may not be replaced, or when another process is writing it.
  explicit OutputFolder(Options options);
  // Throws Error where the constructor would because of what OUTPUT is, and touches nothing: for
  // work that comes before it.
  static void require_free(const Options& options);
  // Without commit() nothing is left, no parent folder that was made for it either.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Whether a file is in such an output, or beside it while it is written: an input folder may
  // hold it.
  static bool holds(const std::filesystem::path& output, const std::filesystem::path& file);

  // Where to write.
  const std::filesystem::path& path() const { return partial_; }
  // Whether a killed process left its journal there.
  bool is_begun() const;
  // Leaves all as it is, as if this process were killed: another goes on with it.
  void leave();
  void commit();

 private:
  // The lock file. It is empty until the names beside OUTPUT are known to be free.
  class Claim {
   public:
    Claim(std::filesystem::path path, const std::string& hint);
    ~Claim();
    // True when a process that claimed the names was killed.
    bool was_taken() const { return was_taken_; }
    // Whenever it is interrupted, what was claimed before still is.
    void take();
    // Leaves the file, so that the next process goes on with the clearing up.
    void abandon();

   private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    bool was_taken_ = false;
  };
  // Parent folders that were made for the output; removed again while they are empty.
  struct MadeParents {
    std::vector<std::filesystem::path> made;
    bool keep = false;
    explicit MadeParents(const std::filesystem::path& parent);
    ~MadeParents();
  };

  Options options_;
  std::filesystem::path output_;
  std::filesystem::path partial_;
  std::filesystem::path previous_;
  MadeParents parents_;
  std::optional<Claim> claim_;

  static std::string hint(const Options& options);
  static void check_output(const Options& options, const std::filesystem::path& output);
  void recover();
  void remove_journal();
  void put_in_place();
  void replace_in_two_steps();
};

}  // namespace roformer
