#include "training/distributed/job_secret.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/hexadecimal.h"
#include "base/sha1.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kDigits = 40;  // of a code
constexpr std::size_t kBlock = 64;   // bytes, of SHA-1

std::string bytes_of_digits(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
  }
  return bytes;
}

std::string hash(std::string_view first, std::string_view second) {
  Sha1 sha;
  sha.update(first);
  sha.update(second);
  return sha.finish();
}

bool is_code(std::string_view text) {
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A name that a stranger cannot guess and that two trainings do not share.
fs::path file_of(const fs::path& folder, const std::string& fingerprint) {
  return folder / (".roformer-" + fingerprint.substr(0, 16));
}

}  // namespace

JobSecret JobSecret::make() {
  std::array<std::uint64_t, 4> words{};
  if (::getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    throw_failure("a secret for several processes",
                  "the system gives no random numbers: " + system_message(errno));
  }
  std::string text;
  for (const std::uint64_t word : words) text += hexadecimal(word);
  return JobSecret(text);
}

std::string JobSecret::code(std::string_view text) const {
  std::string key = text_.size() > kBlock ? bytes_of_digits(hash(text_, "")) : text_;
  key.resize(kBlock, '\0');
  std::string inner = key, outer = key;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return hash(outer, bytes_of_digits(hash(inner, text)));
}

std::string JobSecret::fingerprint() const {
  return code("fingerprint");
}

std::string JobSecret::prefix() const {
  return code("prefix").substr(0, 16);
}

std::string JobSecret::seal(std::string_view key, std::string_view value) const {
  // The length tells "ab", "c" from "a", "bc".
  return code(std::to_string(key.size()) + " " + std::string(key).append(value)).append(value);
}

std::optional<std::string> JobSecret::open(std::string_view key, std::string_view sealed) const {
  if (sealed.size() < kDigits) return std::nullopt;
  const std::string_view value = sealed.substr(kDigits);
  if (seal(key, value) != sealed) return std::nullopt;
  return std::string(value);
}

JobSecretFile::JobSecretFile(fs::path folder, const JobSecret& secret)
    : folder_(std::move(folder)) {
  std::error_code error;
  made_folder_ = fs::create_directories(folder_, error);
  const fs::path path = file_of(folder_, secret.fingerprint());
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  const std::string& text = secret.text();
  const bool whole = ::write(descriptor, text.data(), text.size()) == std::ssize(text);
  ::close(descriptor);
  path_ = path;
  if (whole) return;
  fs::remove(path, error);
  path_.clear();
}

JobSecretFile::~JobSecretFile() {
  std::error_code error;
  if (is_there()) fs::remove(path_, error);
  if (made_folder_) ::rmdir(folder_.c_str());  // keeps a folder that is not empty
}

std::optional<JobSecret> read_job_secret(const fs::path& folder, const std::string& fingerprint) {
  if (!is_code(fingerprint)) return std::nullopt;
  const int descriptor =
      ::open(file_of(folder, fingerprint).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  struct stat facts {};
  char text[128];
  ssize_t size = -1;
  const bool own = ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                   facts.st_uid == ::geteuid() && (facts.st_mode & 077) == 0;
  if (own) size = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  if (size <= 0) return std::nullopt;
  JobSecret secret(std::string(text, static_cast<std::size_t>(size)));
  if (secret.fingerprint() != fingerprint) return std::nullopt;
  return secret;
}

SignedStore::SignedStore(c10::intrusive_ptr<c10d::Store> store, JobSecret secret)
    : store_(std::move(store)), secret_(std::move(secret)), prefix_(secret_.prefix()) {}

std::vector<std::string> SignedStore::named(const std::vector<std::string>& keys) const {
  std::vector<std::string> names;
  for (const std::string& key : keys) names.push_back(named(key));
  return names;
}

c10::intrusive_ptr<c10d::Store> SignedStore::clone() {
  return c10::make_intrusive<SignedStore>(store_->clone(), secret_);
}

void SignedStore::set(const std::string& key, const std::vector<std::uint8_t>& value) {
  const std::string sealed =
      secret_.seal(key, {reinterpret_cast<const char*>(value.data()), value.size()});
  store_->set(named(key), std::vector<std::uint8_t>(sealed.begin(), sealed.end()));
}

std::vector<std::uint8_t> SignedStore::get(const std::string& key) {
  const std::vector<std::uint8_t> sealed = store_->get(named(key));
  const std::optional<std::string> value =
      secret_.open(key, {reinterpret_cast<const char*>(sealed.data()), sealed.size()});
  if (!value) throw ForeignValue("a process outside this training run wrote to the store");
  return {value->begin(), value->end()};
}

std::int64_t SignedStore::add(const std::string& key, std::int64_t value) {
  return store_->add(named(key), value);
}

bool SignedStore::deleteKey(const std::string& key) {
  return store_->deleteKey(named(key));
}

bool SignedStore::check(const std::vector<std::string>& keys) {
  return store_->check(named(keys));
}

std::int64_t SignedStore::getNumKeys() {
  return store_->getNumKeys();
}

void SignedStore::wait(const std::vector<std::string>& keys) {
  store_->wait(named(keys));
}

void SignedStore::wait(const std::vector<std::string>& keys,
                       const std::chrono::milliseconds& timeout) {
  store_->wait(named(keys), timeout);
}

const std::chrono::milliseconds& SignedStore::getTimeout() const noexcept {
  return store_->getTimeout();
}

void SignedStore::setTimeout(const std::chrono::milliseconds& timeout) {
  store_->setTimeout(timeout);
}

}  // namespace roformer
