// How this process was started beside others of the same training: which of them it is, how many
// there are and where they meet, read from the variables that torchrun, Open MPI's and MPICH's
// mpirun (PMI) and Slurm's srun set. Without such variables a process is alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace roformer {

// No launch has more; a record that says so is damaged.
inline constexpr std::int64_t kMostProcesses = 65'536;

struct Launch {
  std::string launcher;   // "torchrun", "Open MPI", "MPICH", "Slurm"; empty: none
  std::int64_t rank = 0;  // of all processes
  std::int64_t processes = 1;
  std::int64_t local_rank = 0;  // of those on this machine
  std::int64_t local_processes = 1;
  std::string master_address;  // where they meet; empty for one process
  std::int64_t master_port = 0;
  bool launcher_keeps_store = false;  // a process of the launcher serves at that address
  std::string attempt;                // of a launcher that restarts: which start this is

  bool alone() const { return processes == 1; }
};

// The value of a variable, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Throws Error (usage) for variables that contradict each other or of which some are missing.
Launch read_launch(const Environment& environment = process_environment());

// What this process starts from here on is alone, each a training of its own.
void forget_launch();

// In words, for a person: "process 1 of 4 (torchrun), meeting at 127.0.0.1:29500".
std::string describe(const Launch& launch);

}  // namespace roformer
