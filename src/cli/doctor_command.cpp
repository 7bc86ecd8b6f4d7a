// `roformer doctor`: shows the abilities of this machine and this build. Every report of a speed
// should include these figures.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/launch.h"
#include "base/parts.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "base/version.h"
#include "bench/products.h"
#include "cli/command.h"
#include "cli/machine.h"
#include "config/words.h"
#include "report/table.h"
#include "tensor/device.h"
#include "tensor/gpu/driver.h"
#include "tensor/gpu/launch.h"
#include "tensor/gpu/plugin.h"
#include "tensor/kernels.h"

namespace roformer {
namespace {

struct DoctorOptions {
  std::int64_t threads = 0;
  bool json = false;
};

struct Speed {
  std::int64_t size = 0;  // rows of the square matrices
  double gflops_per_s = 0;
};

struct Diagnosis {
  Machine machine;
  std::filesystem::path folder;
  std::int64_t threads = 0;
  std::string kernels;                // instruction set of our own inner loops
  std::vector<std::string> libtorch;  // relevant lines of its build configuration
  std::int64_t gpus = 0;              // usable by LibTorch
  bool tf32 = false;                  // whether fp32 products on GPUs may round to TF32
  std::string processes;              // the role of a `train` command that is started like this one
  ComputePlan automatic;
  std::string device;  // the device that was measured
  Speed fp32, bf16;
};

std::vector<std::string> libtorch_lines() {
  std::vector<std::string> lines;
  const std::string configuration = at::show_config();
  for (const std::string_view line : split_at(configuration, '\n')) {
    for (const char* word : {"Math Kernel", "MKL-DNN", "oneDNN", "OpenMP", "CPU capability",
                             "CUDA Runtime", "CuDNN"}) {
      if (line.find(word) == line.npos || line.find("Build settings") != line.npos) continue;
      lines.emplace_back(line.substr(std::min(line.size(), line.find_first_not_of(" -"))));
      break;
    }
  }
  return lines;
}

// A processor without bf16 arithmetic is some hundred times slower, so it multiplies smaller
// matrices.
Speed measured(const ComputePlan& automatic, Precision precision) {
  constexpr std::int64_t kSize = 2048, kSmallSize = 256, kGpuSize = 8192;
  const Bf16Support support = bf16_support();
  const bool quick = precision == Precision::fp32 || automatic.device.is_cuda() ||
                     support.avx512_bf16 || support.amx;
  const std::int64_t size = automatic.device.is_cuda() ? kGpuSize : quick ? kSize : kSmallSize;
  return {
      .size = size,
      .gflops_per_s = matmul_ceiling({.device = automatic.device, .precision = precision}, size)};
}

// Returns the message about contradictory variables rather than throwing it.
std::string launch_words() {
  try {
    return describe(read_launch());
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

// The reason why no GPU kernels can be compiled, such as the lack of a GPU; empty: they can.
const std::string& reason_against_gpu_kernels() {
  return gpu_support().usable ? gpu::reason_against_kernels() : gpu_support().reason;
}

std::string reason_against_graphs() {
  const std::string& reason = reason_against_gpu_kernels();
  return reason.empty() ? gpu::device_graphs().reason : reason;
}

Diagnosis diagnose(const DoctorOptions& options) {
  prepare_threads(options.threads);
  gpu_support();  // opens the libraries that the figures below need
  Diagnosis result{
      .machine = inspect_machine("."),
      .folder = std::filesystem::current_path(),
      .threads = at::get_num_threads(),
      .kernels = kernels::instruction_set(),
      .libtorch = libtorch_lines(),
      .gpus = static_cast<std::int64_t>(at::getNumGPUs()),
      .tf32 = at::globalContext().allowTF32CuBLAS(),
      .processes = launch_words(),
      .automatic = plan_compute(DeviceKind::automatic, Precision::automatic, kWidthForBf16)};
  result.device = result.automatic.device.str();
  const ElapsedLine elapsed("measuring products of matrices");
  result.fp32 = measured(result.automatic, Precision::fp32);
  result.bf16 = measured(result.automatic, Precision::bf16);
  return result;
}

void print_text(const Diagnosis& found) {
  const auto line = [](std::string_view name, const std::string& text) {
    constexpr std::size_t kNames = 18;
    std::istringstream rows(wrapped(text, std::max(terminal_width(), 2 * kNames) - kNames));
    for (std::string row; std::getline(rows, row); name = "") {
      fmt::print("{:<{}}{}\n", name, kNames, row);
    }
  };
  const auto speed = [](const Speed& figures) {
    return fmt::format("{:.0f} GFLOP/s ({}^3)", figures.gflops_per_s, figures.size);
  };
  const Machine& machine = found.machine;
  line("roformer", kVersionAndCommit);
  line("processor", machine.processor);
  line("instruction sets", fmt::format("{}", fmt::join(machine.instruction_sets, " ")));
  line("cores", fmt::format("{}, usable {:g}", machine.cores, machine.usable_cores));
  line("threads", fmt::format("{}", found.threads));
  line("processes", found.processes);
  line("memory", fmt::format("{}, available {}", format_bytes(machine.memory),
                             format_bytes(machine.memory_free)));
  line("disk", fmt::format("{} free of {} ({})", format_bytes(machine.disk_free),
                           format_bytes(machine.disk), found.folder.string()));
  line("LibTorch", TORCH_VERSION);
  for (const std::string& detail : found.libtorch) line("", detail);
  line("own kernels", found.kernels);
  line("GPUs", fmt::format("{} that LibTorch can use", found.gpus));
  line("TF32", found.tf32 ? "on" : "off: fp32 products on a GPU are those of fp32");
  for (const std::string& card : machine.nvidia_cards) line("", card);
  line("matmul fp32", speed(found.fp32) + " on " + found.device);
  line("matmul bf16", speed(found.bf16) + " on " + found.device);
  line("precision auto",
       fmt::format("{}: {}", to_word(found.automatic.precision), found.automatic.reason));
  const GpuSupport& gpu = gpu_support();
  line("optional parts", gpu.usable ? "GPU support there" : "GPU support not there: " + gpu.reason);
  const std::string& reason = reason_against_gpu_kernels();
  line("", reason.empty() ? "own GPU kernels, compiled by NVRTC " + gpu::compiler_version()
                          : "own GPU kernels not there: " + reason);
  const std::string graphs = reason_against_graphs();
  line("", graphs.empty() ? "graphs of GPU kernels" : "graphs of GPU kernels not there: " + graphs);
}

nlohmann::ordered_json to_json(const Speed& speed) {
  return {{"size", speed.size}, {"gflops_per_s", speed.gflops_per_s}};
}

nlohmann::ordered_json to_json(const Diagnosis& found) {
  const Machine& machine = found.machine;
  return {
      {"version", kVersion},
      {"commit", kCommit},
      {"processor", machine.processor},
      {"instruction_sets", machine.instruction_sets},
      {"cores", machine.cores},
      {"usable_cores", machine.usable_cores},
      {"threads", found.threads},
      {"processes", found.processes},
      {"memory_bytes", machine.memory},
      {"memory_available_bytes", machine.memory_free},
      {"disk_folder", found.folder.string()},
      {"disk_bytes", machine.disk},
      {"disk_free_bytes", machine.disk_free},
      {"libtorch", TORCH_VERSION},
      {"libtorch_build", found.libtorch},
      {"kernels", found.kernels},
      {"gpus", found.gpus},
      {"tf32", found.tf32},
      {"nvidia_cards", machine.nvidia_cards},
      {"matmul",
       {{"device", found.device}, {"fp32", to_json(found.fp32)}, {"bf16", to_json(found.bf16)}}},
      {"automatic",
       {{"precision", to_word(found.automatic.precision)}, {"reason", found.automatic.reason}}},
      {"optional_parts",
       {{"gpu", gpu_support().usable},
        {"gpu_reason", gpu_support().reason},
        {"gpu_kernels", reason_against_gpu_kernels().empty()},
        {"gpu_kernels_reason", reason_against_gpu_kernels()},
        {"graphs", reason_against_graphs().empty()},
        {"graphs_reason", reason_against_graphs()}}}};
}

}  // namespace

void add_doctor_command(CLI::App& program) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = add_listed_command(
      program, "doctor", "Measures for about two seconds, so best on a quiet machine.\n");
  command->add_option("--threads", options->threads, "threads to measure with; 0: all cores")
      ->check(CLI::Range(std::int64_t{0}, kMostThreads))
      ->capture_default_str();
  command->add_flag("--json", options->json, "one JSON object");
  command->callback([options] {
    const Diagnosis found = diagnose(*options);
    if (options->json) {
      std::cout << to_json(found).dump(2) << '\n';
    } else {
      print_text(found);
    }
  });
}

}  // namespace roformer
