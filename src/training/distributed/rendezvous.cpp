#include "training/distributed/rendezvous.h"

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/process.h"
#include "training/distributed/job_secret.h"
#include "training/distributed/listening.h"

namespace roformer {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Store = c10::intrusive_ptr<c10d::Store>;

constexpr Milliseconds kLook{20};
// The store ends with the first process, which gives the others time to read before it leaves.
constexpr Milliseconds kTimeToHear{500};
// A file that another machine has made may appear a little later.
constexpr Milliseconds kTimeToSee{2000};

// Keys and values in the store. Until the secret is known, anybody may have written there, so no
// text of it is shown unfiltered.
const std::string kJob = "job";          // what is trained
const std::string kSecret = "secret";    // "variable FINGERPRINT", "file FINGERPRINT" or "none"
const std::string kMissing = "missing";  // the ranks that have not come, by the first to give up
constexpr const char* kByVariable = "variable";
constexpr const char* kByFile = "file";
constexpr const char* kByNobody = "none";
constexpr const char* kHasSecret = "1 ";  // before the host's name
constexpr const char* kHasNone = "0 ";

std::string host_key(std::int64_t rank) {
  return fmt::format("host/{}", rank);
}

// The number of processes that the process of this rank was told.
std::string count_key(std::int64_t rank) {
  return fmt::format("count/{}", rank);
}

std::string claim_key(std::int64_t rank) {
  return fmt::format("claim/{}", rank);
}

void set_text(c10d::Store& store, const std::string& key, const std::string& text) {
  store.set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::string text_at(c10d::Store& store, const std::string& key) {
  const std::vector<std::uint8_t> bytes = store.get(key);
  return {bytes.begin(), bytes.end()};
}

// Keeps the characters of machine names and lists of numbers; nothing else reaches a terminal.
std::string plain(const std::string& text) {
  constexpr std::size_t kLongest = 255;
  std::string result;
  for (const char c : text.substr(0, kLongest)) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::string_view(".-_, ").find(c) != std::string_view::npos;
    result += good ? c : '?';
  }
  return result;
}

std::string place_of(const Launch& launch) {
  return fmt::format("{}:{}", launch.master_address, launch.master_port);
}

bool all_on_one_machine(const Launch& launch) {
  return launch.local_processes == launch.processes;
}

Store open_store(const Launch& launch, const ConnectOptions& options, std::string& listens_at) {
  c10d::TCPStoreOptions wanted;
  wanted.port = static_cast<std::uint16_t>(launch.master_port);
  wanted.isServer = launch.rank == 0 && !launch.launcher_keeps_store;
  wanted.waitWorkers = false;
  wanted.timeout = options.timeout;
  std::string address = launch.master_address;
  if (wanted.isServer) {
    allow_many_descriptors();
    const ListeningPlace place =
        listen_at(launch.master_address, launch.master_port, !all_on_one_machine(launch));
    if (!place.remark.empty()) log::warn("{}", place.remark);
    if (place.descriptor >= 0) {
      wanted.masterListenFd = place.descriptor;
      address = listens_at = place.address;
    }
  }
  try {
    return c10::make_intrusive<c10d::PrefixStore>(
        "roformer/" + launch.attempt, c10::make_intrusive<c10d::TCPStore>(address, wanted));
  } catch (const std::exception& error) {
    throw_failure(
        place_of(launch),
        fmt::format("process {} of {} cannot {} there: {}", launch.rank, launch.processes,
                    wanted.isServer ? "wait for the others" : "meet the others", first_line(error)),
        "set MASTER_ADDR to the machine of process 0 and MASTER_PORT to a free port on it; a run "
        "that has already started accepts no more processes");
  }
}

[[noreturn]] void refuse_missing(const std::string& missing, const Launch& launch,
                                 const ConnectOptions& options) {
  const auto count = std::ranges::count(missing, ',') + 1;
  throw_failure(
      place_of(launch),
      fmt::format("{} of {} processes did not connect within {:g} s: {}", count, launch.processes,
                  static_cast<double>(options.timeout.count()) / 1e3, missing),
      "raise distributed.timeout to wait longer");
}

// The secret that this process knows; the others may not know it.
struct KnownSecret {
  std::optional<JobSecret> secret;
  std::unique_ptr<JobSecretFile> file;  // of process 0, until all have read it
};

KnownSecret offer_secret(c10d::Store& store, const ConnectOptions& options) {
  KnownSecret known;
  std::string how = kByNobody;
  if (const auto given = process_environment()(kJobSecretVariable)) {
    known.secret.emplace(*given);
    how = kByVariable;
  } else if (!options.folder.empty()) {
    const JobSecret made = JobSecret::make();
    known.file = std::make_unique<JobSecretFile>(options.folder, made);
    if (known.file->is_there()) {
      known.secret = made;
      how = kByFile;
    }
  }
  set_text(store, kJob, options.job);
  set_text(store, kSecret, known.secret ? how + " " + known.secret->fingerprint() : how);
  return known;
}

void refuse_other_job(c10d::Store& store, const Launch& launch, const ConnectOptions& options) {
  const std::string job = text_at(store, kJob);
  if (job.empty() || options.job.empty() || job == options.job) return;
  throw_failure(place_of(launch),
                fmt::format("another run already meets there: {}; this process is of {}",
                            printable(job), printable(options.job)),
                "set MASTER_PORT to a different free port for each run");
}

KnownSecret find_secret(c10d::Store& store, const Launch& launch, const ConnectOptions& options) {
  const auto end = Clock::now() + options.timeout;
  while (!store.check({kSecret})) {
    if (Clock::now() > end) refuse_missing("0", launch, options);
    std::this_thread::sleep_for(kLook);
  }
  refuse_other_job(store, launch, options);
  const std::string offered = text_at(store, kSecret);
  const std::size_t space = std::min(offered.find(' '), offered.size());
  const std::string how = offered.substr(0, space);
  const std::string fingerprint = offered.substr(std::min(space + 1, offered.size()));
  KnownSecret known;
  if (const auto given = process_environment()(kJobSecretVariable)) {
    known.secret.emplace(*given);
    if (how == kByVariable && known.secret->fingerprint() == fingerprint) return known;
    throw_usage(kJobSecretVariable,
                fmt::format("of process {} differs from that of process 0{}", launch.rank,
                            how == kByVariable ? "" : ", which has none"),
                "use one secret for all processes of a run, and a different one for each run");
  }
  if (how == kByVariable) {
    throw_usage(kJobSecretVariable,
                fmt::format("is set for process 0, and not for process {}", launch.rank),
                "one secret for all processes of a training");
  }
  if (how != kByFile || options.folder.empty()) return known;
  std::error_code error;
  const auto seen_by = Clock::now() + kTimeToSee;
  do {
    known.secret = read_job_secret(options.folder, fingerprint);
    if (known.secret || !std::filesystem::exists(options.folder, error)) break;
    std::this_thread::sleep_for(kLook);
  } while (Clock::now() < seen_by);
  return known;
}

// Two processes with one rank would take each other's place, and the others would wait for ever.
void claim_rank(c10d::Store& store, const Launch& launch) {
  if (store.add(claim_key(launch.rank), 1) == 1) return;
  throw_failure(place_of(launch),
                fmt::format("a process {} of {} is already connected: it was started twice, or "
                            "another run meets there",
                            launch.rank, launch.processes),
                "set MASTER_PORT to a different free port for each run");
}

struct Others {
  std::vector<std::string> hosts;
  std::vector<std::int64_t> without_secret;  // their ranks
};

Others wait_for_others(c10d::Store& store, const Launch& launch, const ConnectOptions& options,
                       bool has_secret) {
  const std::string count = std::to_string(launch.processes);
  set_text(store, count_key(launch.rank), count);
  set_text(store, host_key(launch.rank), (has_secret ? kHasSecret : kHasNone) + host_name());
  std::set<std::int64_t> come;
  std::vector<std::int64_t> missing;
  const auto end = Clock::now() + options.timeout;
  do {
    missing.clear();
    if (store.check({kMissing})) refuse_missing(plain(text_at(store, kMissing)), launch, options);
    for (std::int64_t r = 0; r < launch.processes; ++r) {
      if (come.contains(r)) continue;
      if (!store.check({host_key(r)})) {
        missing.push_back(r);
        continue;
      }
      come.insert(r);
      const std::string other = text_at(store, count_key(r));
      if (other == count) continue;
      if (launch.rank == 0) std::this_thread::sleep_for(kTimeToHear);
      throw_failure(place_of(launch),
                    fmt::format("process {} was started as one of {} and process {} as one of {}",
                                launch.rank, count, r, plain(other)),
                    "use one WORLD_SIZE for all processes");
    }
    if (!missing.empty()) std::this_thread::sleep_for(kLook);
  } while (!missing.empty() && Clock::now() < end);
  if (!missing.empty()) {
    const std::string ranks = fmt::format("{}", fmt::join(missing, ", "));
    set_text(store, kMissing, ranks);
    if (launch.rank == 0) std::this_thread::sleep_for(kTimeToHear);
    refuse_missing(ranks, launch, options);
  }
  Others others;
  for (std::int64_t r = 0; r < launch.processes; ++r) {
    const std::string text = text_at(store, host_key(r));
    if (!text.starts_with(kHasSecret)) others.without_secret.push_back(r);
    others.hosts.push_back(plain(text.substr(std::min<std::size_t>(text.size(), 2))));
  }
  return others;
}

// Whether all later messages are signed: the same answer in all processes.
bool all_share(const Others& others, const Launch& launch, const ConnectOptions& options) {
  if (others.without_secret.empty()) return true;
  // On one machine all can read it: a process without it is an error, or a stranger's.
  const bool offered = std::ssize(others.without_secret) < launch.processes;
  if (offered && all_on_one_machine(launch)) {
    if (launch.rank == 0) std::this_thread::sleep_for(kTimeToHear);
    throw_failure(place_of(launch),
                  fmt::format("process {} cannot read the secret that process 0 wrote to {}",
                              others.without_secret.front(), options.folder.string()),
                  fmt::format("{} gives all processes one", kJobSecretVariable));
  }
  if (launch.rank == 0 && !all_on_one_machine(launch)) {
    log::warn(
        "the processes share no secret: anyone who can reach {} can end this run (set {} to "
        "give them one)",
        place_of(launch), kJobSecretVariable);
  }
  return false;
}

}  // namespace

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

Rendezvous rendezvous(const Launch& launch, const ConnectOptions& options) {
  Rendezvous met;
  met.store = open_store(launch, options, met.listens_at);
  c10d::Store& store = *met.store;
  try {
    KnownSecret known =
        launch.rank == 0 ? offer_secret(store, options) : find_secret(store, launch, options);
    claim_rank(store, launch);
    const Others others = wait_for_others(store, launch, options, known.secret.has_value());
    met.hosts = others.hosts;
    if (all_share(others, launch, options)) {
      met.store = c10::make_intrusive<SignedStore>(met.store, *known.secret);
    }
    return met;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw_failure(
        place_of(launch),
        fmt::format("process {} of {} cannot meet the others there: {} is gone ({})", launch.rank,
                    launch.processes, launch.launcher_keeps_store ? "the launcher" : "process 0",
                    first_line(error)));
  }
}

}  // namespace roformer
