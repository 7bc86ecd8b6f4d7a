// What the processes of one training know and nobody else does. What they write into the common
// store is sealed with it: a stranger who reaches the store can neither speak for one of them nor
// have a text of his printed. It hides nothing, and who can delete keys can still end the training.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

class JobSecret {
 public:
  explicit JobSecret(std::string text) : text_(std::move(text)) {}
  // Of the system's random numbers.
  static JobSecret make();

  const std::string& text() const { return text_; }
  // Tells one secret from another and gives neither away: 40 hexadecimal digits.
  std::string fingerprint() const;
  // What keys of this job begin with.
  std::string prefix() const;

  // The value with a seal before it, which is of this key alone (HMAC, RFC 2104, of SHA-1).
  std::string seal(std::string_view key, std::string_view value) const;
  // The value; nothing where the seal is not of this secret and key.
  std::optional<std::string> open(std::string_view key, std::string_view sealed) const;

 private:
  std::string text_;

  std::string code(std::string_view text) const;
};

// The variable that gives all processes one secret.
inline constexpr const char* kJobSecretVariable = "ROFORMER_JOB_SECRET";

// A secret in a file of the user's alone, in a folder that all processes see: made by the first,
// gone with this object.
class JobSecretFile {
 public:
  // Makes the folder where it is not there. is_there() is false where nothing can be written.
  JobSecretFile(std::filesystem::path folder, const JobSecret& secret);
  ~JobSecretFile();
  JobSecretFile(const JobSecretFile&) = delete;
  JobSecretFile& operator=(const JobSecretFile&) = delete;

  bool is_there() const { return !path_.empty(); }

 private:
  std::filesystem::path folder_;
  bool made_folder_ = false;
  std::filesystem::path path_;
};

// The secret of this fingerprint, by another process; nothing where its file is not there (yet), or
// not this user's alone.
std::optional<JobSecret> read_job_secret(const std::filesystem::path& folder,
                                         const std::string& fingerprint);

}  // namespace roformer
