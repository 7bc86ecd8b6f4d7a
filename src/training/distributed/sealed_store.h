// A store of c10d whose values carry the seal of a job's secret (job_secret.h). All that goes
// through it, Gloo's and NCCL's own words included, is either of this job or an error.
#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <stdexcept>
#include <string>
#include <vector>

#include "training/distributed/job_secret.h"

namespace roformer {

// A value that none of this job's processes has written.
class ForeignValue : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SealedStore : public c10d::Store {
 public:
  SealedStore(c10::intrusive_ptr<c10d::Store> store, JobSecret secret);

  c10::intrusive_ptr<c10d::Store> clone() override;
  using Store::set;
  void set(const std::string& key, const std::vector<std::uint8_t>& value) override;
  // Throws ForeignValue.
  std::vector<std::uint8_t> get(const std::string& key) override;
  // Not sealed: a number that counts.
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
