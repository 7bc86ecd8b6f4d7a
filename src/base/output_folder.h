// A folder that is written beside its place and appears there only when it is complete, as
// AtomicFile does for one file. Whatever system call the process is killed in, its place holds
// either the whole old folder or the whole new one, and the next process that writes there cleans
// up.
//
//   OUTPUT.lock      held by the writing process (the kernel frees it when that is killed); while
//                    the file says so, this program may remove the two below
//   OUTPUT.partial   the new folder; exchanged with OUTPUT in one step (RENAME_EXCHANGE)
//   OUTPUT.previous  the old folder, on file systems that cannot exchange: OUTPUT is then missing
//                    for a moment, and the next writer puts it back after a kill
//
// Long work keeps a journal in the folder that tells which files are complete. The next process
// then continues with the OUTPUT.partial that a killed one left.
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
    std::string contents;    // what may be replaced: "a prepared data set"
    // True for a folder with such contents. Nothing else is ever replaced, except an empty folder.
    std::function<bool(const std::filesystem::path&)> is_replaceable;
    // Name of the journal in the folder, "" for none. The finished folder does not have it.
    std::string journal = {};
  };
  // Makes OUTPUT.partial, which is empty unless a killed process left a journal in it. Throws Error
  // when OUTPUT exists and may not be replaced, or when another process is writing it.
  explicit OutputFolder(Options options);
  // Throws the constructor's Error about OUTPUT, and touches nothing: for work that comes before.
  static void require_free(const Options& options);
  // Without commit(), removes everything, including parent folders that were made for the output.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Whether a file belongs to such an output, finished or being written. An input folder may hold
  // the output.
  static bool holds(const std::filesystem::path& output, const std::filesystem::path& file);

  // Where to write.
  const std::filesystem::path& path() const { return partial_; }
  // Whether a killed process left its journal there.
  bool is_begun() const;
  // Leaves everything as if this process were killed, for another process to continue.
  void leave();
  void commit();

 private:
  // The lock file. It is empty until the names beside OUTPUT are known to be free.
  class Claim {
   public:
    Claim(std::filesystem::path path, const std::string& hint);
    ~Claim();
    // True when a process that had claimed the names was killed.
    bool was_taken() const { return was_taken_; }
    // Safe to interrupt: an earlier claim stays until the new one is written.
    void take();
    // Leaves the file, so that the next process finishes the cleaning up.
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

// A new folder among the system's temporary files, removed with its contents.
class ScratchFolder {
 public:
  // `name` becomes part of the folder's name. Throws Error (failure) where none can be made.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace roformer
