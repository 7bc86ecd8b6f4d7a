// How this process was started among the processes of a training: its rank, their number and where
// they meet, read from the variables that torchrun, Open MPI's and MPICH's mpirun (PMI) and Slurm's
// srun set. Without such variables a process is alone.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace roformer {

// A record with more processes is damaged.
inline constexpr std::int64_t kMostProcesses = 65'536;

struct Launch {
  std::string launcher;   // "torchrun", "Open MPI", "MPICH", "Slurm"; empty: none
  std::int64_t rank = 0;  // of all processes
  std::int64_t processes = 1;
  std::int64_t local_rank = 0;  // of those on this machine
  std::int64_t local_processes = 1;
  std::string master_address;  // where they meet; empty for one process
  std::int64_t master_port = 0;
  bool launcher_keeps_store = false;  // the launcher itself serves the store at that address
  std::string attempt;                // the number of this start, for a launcher that restarts

  bool alone() const { return processes == 1; }
};

// The value of a variable, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

// Throws Error (usage) for variables that contradict each other or of which some are missing.
Launch read_launch(const Environment& environment = process_environment());

// Clears these variables, so that programs started from here on are separate trainings.
void forget_launch();

// "process 1 of 4 (torchrun), ... meeting at 127.0.0.1:29500".
std::string describe(const Launch& launch);

}  // namespace roformer
