#include "base/launch.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"

namespace roformer {
namespace {

// The variables of one launcher. Only rank and processes are required.
struct Launcher {
  const char* name;
  const char* rank;
  const char* processes;
  const char* local_rank;
  const char* local_processes;
  const char* hint;
};

constexpr Launcher kTorchrun{
    "torchrun",         "RANK",
    "WORLD_SIZE",       "LOCAL_RANK",
    "LOCAL_WORLD_SIZE", "start with torchrun --no-python, or unset RANK and WORLD_SIZE"};
constexpr Launcher kOpenMpi{"Open MPI",
                            "OMPI_COMM_WORLD_RANK",
                            "OMPI_COMM_WORLD_SIZE",
                            "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE",
                            "start with mpirun, or unset them"};
constexpr Launcher kMpich{"MPICH",           "PMI_RANK",        "PMI_SIZE",
                          "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "start with mpirun, or unset them"};
// Uses the step's variable: a batch script also has SLURM_NTASKS, although srun has started
// nothing.
constexpr Launcher kSlurm{"Slurm",         "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                          "SLURM_LOCALID", nullptr,        "start with srun"};
// The first launcher found counts: srun may have started mpirun or torchrun.
constexpr std::array kLaunchers = {&kTorchrun, &kOpenMpi, &kMpich, &kSlurm};

constexpr std::int64_t kDefaultPort = 29500;

std::int64_t number(const std::string& name, const std::string& text, std::int64_t lowest,
                    std::int64_t highest) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < lowest || value > highest) {
    throw_usage(name,
                fmt::format("is \"{}\", not an integer from {} to {}", text, lowest, highest));
  }
  return value;
}

bool is_there(const Launcher& launcher, const Environment& environment) {
  const bool size = environment(launcher.processes).has_value();
  // Only the variable of srun's step tells srun from a batch script.
  if (&launcher == &kSlurm) return size;
  return size || environment(launcher.rank).has_value();
}

std::int64_t required(const char* name, const Launcher& launcher, const Environment& environment,
                      std::int64_t lowest, std::int64_t highest) {
  const std::optional<std::string> text = environment(name);
  if (!text) {
    const bool rank_there = environment(launcher.rank).has_value();
    throw_usage(name,
                fmt::format("is not set, but {} is: the variables of {} are incomplete",
                            rank_there ? launcher.rank : launcher.processes, launcher.name),
                launcher.hint);
  }
  return number(name, *text, lowest, highest);
}

// Returns the rank and the number of processes.
std::pair<std::int64_t, std::int64_t> place_in(const Launcher& launcher,
                                               const Environment& environment) {
  const std::int64_t processes =
      required(launcher.processes, launcher, environment, 1, kMostProcesses);
  const std::int64_t rank = required(launcher.rank, launcher, environment, 0, kMostProcesses);
  if (rank >= processes) {
    throw_usage(launcher.rank,
                fmt::format("is {}, but {} says that there are {} processes, 0 to {}", rank,
                            launcher.processes, processes, processes - 1));
  }
  return {rank, processes};
}

// Variables that another launcher left over would make every process believe that it is the first.
void refuse_contradictions(const Launcher& chosen, const Launch& launch,
                           const Environment& environment) {
  if (&chosen != &kTorchrun || environment("TORCHELASTIC_RUN_ID")) return;
  for (const Launcher* other : {&kOpenMpi, &kMpich, &kSlurm}) {
    if (!is_there(*other, environment)) continue;
    const auto [rank, processes] = place_in(*other, environment);
    if (rank == launch.rank && processes == launch.processes) continue;
    throw_usage("RANK, WORLD_SIZE",
                fmt::format("say process {} of {}, but {} says process {} of {}", launch.rank,
                            launch.processes, other->name, rank, processes),
                std::string("unset RANK and WORLD_SIZE to follow ") + other->name);
  }
}

// The count for node `index` in Slurm's "2(x3),1".
std::int64_t slurm_count(const std::string& text, std::int64_t index) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t bracket = part.find("(x");
    const std::int64_t count =
        number("SLURM_STEP_TASKS_PER_NODE", part.substr(0, bracket), 1, 1 << 20);
    std::int64_t nodes = 1;
    if (bracket != std::string::npos) {
      const std::size_t end = part.find(')', bracket);
      nodes = number("SLURM_STEP_TASKS_PER_NODE", part.substr(bracket + 2, end - bracket - 2), 1,
                     1 << 20);
    }
    if (index < nodes) return count;
    index -= nodes;
  }
  return 1;
}

// The first node in Slurm's "node[01-04,07],other".
std::string first_slurm_node(const std::string& list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  const std::size_t close = list.find(']', bracket);
  std::string name = list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
  if (close == std::string::npos) return name;
  return name + list.substr(close + 1, list.find(',', close) - close - 1);
}

// Derives a port from the job's name, so that several trainings on one machine use different ports.
std::int64_t job_port(const std::string& job) {
  if (job.empty()) return kDefaultPort;
  constexpr std::int64_t kFirst = 15000, kCount = 10000;
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return kFirst + hash % kCount;
}

std::string job_of(const Launcher& launcher, const Environment& environment) {
  std::string job;
  std::vector<const char*> names;
  if (&launcher == &kOpenMpi) names = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"};
  if (&launcher == &kSlurm) names = {"SLURM_JOB_ID", "SLURM_STEP_ID"};
  for (const char* name : names) {
    if (const auto value = environment(name)) job += *value + ".";
  }
  return job;
}

void find_meeting(const Launcher& launcher, const Environment& environment, Launch& launch) {
  const std::optional<std::string> address = environment("MASTER_ADDR");
  const std::optional<std::string> nodes = environment("SLURM_STEP_NODELIST");
  if (address) {
    launch.master_address = *address;
  } else if (launch.local_processes == launch.processes && &launcher != &kTorchrun) {
    launch.master_address = "127.0.0.1";
  } else if (&launcher == &kSlurm && nodes) {
    launch.master_address = first_slurm_node(*nodes);
  } else {
    throw_usage("MASTER_ADDR",
                fmt::format("is not set: the {} processes of {} do not know where to meet",
                            launch.processes, launcher.name),
                &launcher == &kOpenMpi
                    ? "mpirun -x MASTER_ADDR=HOST, the machine of the first process"
                    : "set it to the machine of the first process");
  }
  const std::optional<std::string> port = environment("MASTER_PORT");
  if (!port && &launcher == &kTorchrun) {
    throw_usage("MASTER_PORT", "is not set, but RANK is: the variables of torchrun are incomplete",
                launcher.hint);
  }
  launch.master_port =
      port ? number("MASTER_PORT", *port, 1, 65535) : job_port(job_of(launcher, environment));
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
  };
}

void forget_launch() {
  for (const Launcher* launcher : kLaunchers) {
    for (const char* name :
         {launcher->rank, launcher->processes, launcher->local_rank, launcher->local_processes}) {
      if (name != nullptr) ::unsetenv(name);
    }
  }
}

Launch read_launch(const Environment& environment) {
  const Launcher* launcher = nullptr;
  for (const Launcher* candidate : kLaunchers) {
    if (launcher == nullptr && is_there(*candidate, environment)) launcher = candidate;
  }
  Launch launch;
  if (launcher == nullptr) return launch;
  launch.launcher = launcher->name;
  std::tie(launch.rank, launch.processes) = place_in(*launcher, environment);
  refuse_contradictions(*launcher, launch, environment);
  if (launch.alone()) return launch;
  const auto local_rank = environment(launcher->local_rank);
  if (local_rank) {
    launch.local_rank = number(launcher->local_rank, *local_rank, 0, launch.processes - 1);
  }
  const auto tasks = environment("SLURM_STEP_TASKS_PER_NODE");
  if (launcher == &kSlurm && tasks) {
    const auto node = environment("SLURM_NODEID");
    launch.local_processes =
        slurm_count(*tasks, node ? number("SLURM_NODEID", *node, 0, 1 << 20) : 0);
  } else if (launcher->local_processes != nullptr) {
    const auto local = environment(launcher->local_processes);
    if (local) {
      launch.local_processes = number(launcher->local_processes, *local, 1, launch.processes);
    }
  }
  if (launch.local_rank >= launch.local_processes) {
    launch.local_processes = launch.local_rank + 1;  // at least this many processes are here
  }
  find_meeting(*launcher, environment, launch);
  launch.launcher_keeps_store =
      launcher == &kTorchrun && environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.attempt = environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return launch;
}

std::string describe(const Launch& launch) {
  if (launch.launcher.empty()) return "one process: none of torchrun, mpirun and srun started it";
  const std::string text =
      fmt::format("process {} of {} ({})", launch.rank, launch.processes, launch.launcher);
  if (launch.alone()) return text;
  return fmt::format("{}, {} of {} on this machine, meeting at {}:{}{}", text, launch.local_rank,
                     launch.local_processes, launch.master_address, launch.master_port,
                     launch.launcher_keeps_store ? " (kept by the launcher)" : "");
}

}  // namespace roformer
