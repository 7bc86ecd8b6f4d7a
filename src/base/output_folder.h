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
    bool overwrite = false;  // replace an existing output
    std::string flag;        // names the output in hints; "" for an argument
    std::string contents;    // the kind of contents that may be replaced: "a prepared data set"
    // True for a folder with such contents. No other folder is ever replaced unless it is empty.
    std::function<bool(const std::filesystem::path&)> is_replaceable;
    // The journal's name in the folder, "" for none. The finished folder has no journal.
    std::string journal = {};
  };
  // Makes OUTPUT.partial, which is empty unless a killed process left a journal in it. Throws Error
  // if OUTPUT exists and may not be replaced, or if another process is writing it.
  explicit OutputFolder(Options options);
  // Throws the same Errors about OUTPUT as the constructor but changes nothing. Call it before work
  // that precedes the output.
  static void require_free(const Options& options);
  // Without commit(), removes everything, including parent folders that were made for the output.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Whether a file belongs to such an output, finished or unfinished. An input folder may contain
  // the output.
  static bool holds(const std::filesystem::path& output, const std::filesystem::path& file);

  // The folder to write into.
  const std::filesystem::path& path() const { return partial_; }
  // Whether a killed process left its journal in the folder.
  bool is_begun() const;
  // Leaves everything as if this process had been killed, so that another process can continue.
  void leave();
  void commit();

 private:
  // The lock file. It stays empty until the names beside OUTPUT are known to be free.
  class Claim {
   public:
    Claim(std::filesystem::path path, const std::string& hint);
    ~Claim();
    // True if a process that had claimed the names was killed.
    bool was_taken() const { return was_taken_; }
    // Safe to interrupt: an earlier claim stays until the new one is written.
    void take();
    // Leaves the file, so that the next process finishes the clean-up.
    void abandon();

   private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    bool was_taken_ = false;
  };
  // Parent folders that were made for the output. They are removed again if they are empty.
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
  // `name` becomes part of the folder's name. Throws Error (failure) if no folder can be made.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace roformer
