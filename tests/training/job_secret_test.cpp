#include "training/distributed/job_secret.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

namespace roformer {
namespace fs = std::filesystem;

TEST_CASE("a seal is of one secret, one key and one value") {
  // HMAC-SHA1 of "3 keyvalue" by Python's hmac module.
  const JobSecret secret("Jefe");
  const std::string sealed = secret.seal("key", "value");
  CHECK(sealed == "3a4f339b08b4681aa4d34625cf9ffabadbb79761value");
  CHECK(secret.open("key", sealed) == "value");
  CHECK(secret.open("key", secret.seal("key", "")) == "");
  CHECK_FALSE(secret.open("kez", sealed));
  CHECK_FALSE(secret.open("ke", secret.seal("k", "evalue")));
  CHECK_FALSE(secret.open("key", "value"));
  CHECK_FALSE(secret.open("key", sealed + "s"));
  CHECK_FALSE(JobSecret("jefe").open("key", sealed));
  const JobSecret made = JobSecret::make();
  CHECK(made.text() != JobSecret::make().text());
  CHECK(made.fingerprint() == JobSecret(made.text()).fingerprint());
  CHECK(made.fingerprint() != secret.fingerprint());
}

TEST_CASE("a secret's file is the user's alone, and goes") {
  const TemporaryFolder folder;
  const fs::path runs = folder.path / "runs";
  const JobSecret secret = JobSecret::make();
  {
    const JobSecretFile file(runs, secret);
    REQUIRE(file.is_there());
    const fs::path path = fs::directory_iterator(runs)->path();
    struct stat facts {};
    REQUIRE(::stat(path.c_str(), &facts) == 0);
    CHECK((facts.st_mode & 0777) == 0600);
    CHECK(read_job_secret(runs, secret.fingerprint())->text() == secret.text());
    CHECK_FALSE(read_job_secret(runs, JobSecret("another").fingerprint()));
    CHECK_FALSE(read_job_secret(runs, "../" + secret.fingerprint()));
    // What others may read or have changed is no secret.
    ::chmod(path.c_str(), 0644);
    CHECK_FALSE(read_job_secret(runs, secret.fingerprint()));
    ::chmod(path.c_str(), 0600);
    write_file_atomically(path, "another");
    ::chmod(path.c_str(), 0600);
    CHECK_FALSE(read_job_secret(runs, secret.fingerprint()));
    fs::rename(path, folder.path / "elsewhere");
    fs::create_symlink(folder.path / "elsewhere", path);
    CHECK_FALSE(read_job_secret(runs, secret.fingerprint()));
    CHECK_FALSE(JobSecretFile(runs, secret).is_there());
    fs::remove(path);
  }
  CHECK_FALSE(fs::exists(runs));
  make_directories(runs);
  write_file_atomically(runs / "a", "");
  { const JobSecretFile file(runs, secret); }
  CHECK(fs::exists(runs / "a"));
}

}  // namespace roformer
