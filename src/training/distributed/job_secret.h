// A secret that only the processes of one training know. They sign what they write to the common
// store with it: a stranger who reaches the store can neither speak for one of them nor have a text
// printed. It hides nothing, and a stranger who can delete keys can still end the training.
#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace roformer {

class JobSecret {
 public:
  explicit JobSecret(std::string text) : text_(std::move(text)) {}
  // From the system's random numbers.
  static JobSecret make();

  const std::string& text() const { return text_; }
  // Identifies the secret without revealing it: 40 hexadecimal digits.
  std::string fingerprint() const;
  // The beginning of this job's keys.
  std::string prefix() const;

  // The value after its signature for this key (HMAC, RFC 2104, of SHA-1).
  std::string seal(std::string_view key, std::string_view value) const;
  // The value. Empty if the signature does not fit this secret and key.
  std::optional<std::string> open(std::string_view key, std::string_view sealed) const;

 private:
  std::string text_;

  std::string code(std::string_view text) const;
};

// The environment variable that gives all processes one secret.
inline constexpr const char* kJobSecretVariable = "ROFORMER_JOB_SECRET";

// A secret in a file that only the user can read, in a folder that all processes see. The first
// process makes it; the destructor removes it.
class JobSecretFile {
 public:
  // Makes the folder if it is missing. is_there() is false if nothing can be written.
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

// Reads the secret with this fingerprint in another process. Empty if its file is missing (or not
// there yet), or if users other than this one may read it.
std::optional<JobSecret> read_job_secret(const std::filesystem::path& folder,
                                         const std::string& fingerprint);

// A value that none of this job's processes has written.
class ForeignValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A store of c10d whose values are signed with the job's secret. Everything that goes through it,
// including Gloo's and NCCL's values, is either from this job or an error.
class SignedStore : public c10d::Store {
 public:
  SignedStore(c10::intrusive_ptr<c10d::Store> store, JobSecret secret);

  c10::intrusive_ptr<c10d::Store> clone() override;
  using Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  // Throws ForeignValue.
  std::vector<std::uint8_t> get(const std::string& key) override;
  // A counter, without a signature.
  std::int64_t add(const std::string& key, std::int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  std::int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;
  const std::chrono::milliseconds& getTimeout() const noexcept override;
  void setTimeout(const std::chrono::milliseconds& timeout) override;
  bool hasExtendedApi() const override { return false; }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
  JobSecret secret_;
  std::string prefix_;

  std::string named(const std::string& key) const { return prefix_ + "/" + key; }
  std::vector<std::string> named(const std::vector<std::string>& keys) const;
};

}  // namespace roformer
