#include "training/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/checksums.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/log.h"
#include "config/words.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr const char* kPartial = ".partial";
constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kAverage = "ema.safetensors";
// transformers requires "format" in a file that it loads.
const std::map<std::string, std::string> kMetadata = {{"format", "pt"}, {"roformer_version", "1"}};

// The part of a flat buffer that belongs to a parameter.
at::Tensor piece(const at::Tensor& flat, const ParameterStore& parameters, const Parameter& of) {
  return flat.narrow(0, parameters.offset_of(of), of.value.numel()).view(of.spec.shape);
}

std::vector<NamedTensor> model_tensors(const ParameterStore& parameters) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parameters.all()) {
    tensors.push_back({.name = parameter.spec.name, .value = parameter.value.detach()});
  }
  return tensors;
}

// Describes a whole model. Parameters that are not trained are stored unchanged.
std::vector<NamedTensor> average_tensors(const CheckpointParts& parts) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parts.parameters.all()) {
    tensors.push_back({.name = parameter.spec.name,
                       .value = parameter.trained
                                    ? piece(parts.average, parts.parameters, parameter)
                                    : parameter.value.detach()});
  }
  return tensors;
}

// The file must hold exactly these tensors, with their types and shapes.
void check_same(const Safetensors& file, const std::vector<NamedTensor>& tensors) {
  const std::string location = file.path().string();
  for (const NamedTensor& tensor : tensors) {
    const SafetensorsEntry& entry = file.entry(tensor.name);
    if (entry.shape != tensor.value.sizes().vec()) {
      throw_failure(location, fmt::format("\"{}\" has the shape [{}], this model's has [{}]",
                                          tensor.name, fmt::join(entry.shape, ", "),
                                          fmt::join(tensor.value.sizes().vec(), ", ")));
    }
    if (scalar_type(entry.type) != tensor.value.scalar_type()) {
      throw_failure(location,
                    fmt::format("\"{}\" has the type {}, this model's has {}", tensor.name,
                                safetensors_name(entry.type),
                                safetensors_name(safetensors_type(tensor.value.scalar_type()))));
    }
  }
  if (file.names().size() == tensors.size()) return;
  for (const std::string& name : file.names()) {
    if (std::ranges::none_of(tensors,
                             [&](const NamedTensor& tensor) { return tensor.name == name; })) {
      throw_failure(location, "holds \"" + name + "\", which this model does not have");
    }
  }
}

// Only Muon's moments have momentum.
void require_same_optimizer(const Safetensors& file, const std::vector<NamedTensor>& moments) {
  const auto is_momentum = [](const std::string& name) {
    return name.starts_with(kMomentumPrefix);
  };
  const auto word = [](bool muon) {
    return to_word(muon ? OptimizerKind::muon : OptimizerKind::adamw);
  };
  const bool stored = std::ranges::any_of(file.names(), is_momentum),
             wanted = std::ranges::any_of(moments, is_momentum, &NamedTensor::name);
  if (stored == wanted) return;
  throw_failure(file.path().string(),
                fmt::format("holds the moments of training.optimizer {}, but this training has {}",
                            word(stored), word(wanted)),
                "use the optimiser of the stored run, or start a new run from its weights: "
                "--model.from RUN");
}

void fill(const std::vector<NamedTensor>& tensors, const Safetensors& file) {
  const at::NoGradGuard no_gradient;
  for (const NamedTensor& tensor : tensors) {
    at::Tensor target = tensor.value;  // shares the storage
    target.copy_(file.tensor(tensor.name));
    file.release(tensor.name);
  }
}

// The step in the name of a checkpoint folder; empty for other names.
std::optional<std::int64_t> step_of(const fs::path& folder) {
  const fs::path plain = folder.lexically_normal();  // "step-00000010/" ends in nothing
  const std::string name = (plain.has_filename() ? plain : plain.parent_path()).filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (parsed.ec != std::errc() || parsed.ptr != end || step < 0) return std::nullopt;
  return step;
}

void remove_folder(const InnerPath& checkpoints, const std::string& name) {
  InnerPath partial = checkpoints / name;
  // A partly removed folder must not look complete.
  if (!name.ends_with(kPartial)) {
    const InnerPath folder = std::exchange(partial, checkpoints / (name + kPartial));
    partial.remove_all();
    const std::error_code error = folder.rename_to(partial);
    if (error) throw_failure(folder.string(), "cannot remove: " + error.message());
  }
  // On a network disk a file that somebody reads cannot be removed. The next opening of the run
  // tries again.
  const std::error_code error = partial.remove_all();
  if (error) log::warn("{}: cannot remove: {}", partial.string(), error.message());
}

struct Ranked {
  fs::path folder;
  ValidationRecord validation;
};

// The validated checkpoints, best first; the older of equals comes first. Calls `unreadable` for
// each checkpoint whose state cannot be read.
std::vector<Ranked> rank_checkpoints(
    const fs::path& checkpoints,
    const std::function<void(const fs::path& folder, const Error& problem)>& unreadable) {
  std::vector<Ranked> ranked;
  for (const fs::path& folder : list_checkpoints(checkpoints)) {
    try {
      const TrainingState state = read_training_state(folder);
      if (state.current() != nullptr && state.current()->counts())
        ranked.push_back({folder, *state.current()});
    } catch (const Error& problem) {
      if (!has_gone(folder)) unreadable(folder, problem);
    }
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    return is_better(a.validation, b.validation);
  });
  return ranked;
}

// The hint for a user who names a folder of runs instead of a run.
void refuse_study(const fs::path& folder) {
  std::vector<std::string> runs;
  for (const fs::path& run : runs_in(folder)) runs.push_back(run.string());
  if (is_run(folder) || runs.empty()) return;
  throw_usage(folder.string(), "is a folder of runs, not a run",
              "name one of them: " + few_of(runs, 8));
}

// The steps of the other checkpoints of the run, as a hint.
std::string other_checkpoints(const fs::path& checkpoint) {
  std::vector<std::string> others;
  for (const fs::path& folder : list_checkpoints(checkpoint.parent_path())) {
    if (folder != checkpoint) others.push_back(std::to_string(*step_of(folder)));
  }
  return others.empty() ? ""
                        : fmt::format("the run has others, of step {}", fmt::join(others, ", "));
}

// Throws Error for the first file that differs from the written one. Old checkpoints have no
// manifest.
void check_manifest(const fs::path& checkpoint, bool with_optimizer) {
  const std::optional<Manifest> manifest = Manifest::read(checkpoint);
  if (!manifest) {
    log::info("{} has no manifest.json: its weights are used as they are, unchecked",
              checkpoint.string());
    return;
  }
  for (const std::string& name : manifest->names()) {
    if (name == kOptimizer && !with_optimizer) continue;
    if (const std::optional<Damage> damage = manifest->check(name)) {
      throw_failure(damage->file.string(), describe_damage(*damage),
                    with_optimizer ? "" : other_checkpoints(checkpoint));
    }
  }
}

void write_checkpoint(const InnerPath& checkpoints, const TrainingState& state,
                      const std::function<void(const InnerPath&)>& add_tensors,
                      const std::function<void(const InnerPath&)>& add_files) {
  checkpoints.make_folder();
  const std::string name = fmt::format("{}{:08}", kPrefix, state.consumed.steps);
  const InnerPath target = checkpoints / name, partial = checkpoints / (name + kPartial);
  if (is_present(target.path())) {  // weights and moments of this step are there already
    write_checksummed_json(target / kStateFile, to_stored_json(state));
    return;
  }
  partial.remove_all();
  partial.make_folder();
  try {
    add_tensors(partial);
    add_files(partial);
    // Without the state, which a later validation changes and which has its own checksum.
    Manifest::of(partial).write();
    write_checksummed_json(partial / kStateFile, to_stored_json(state));
  } catch (...) {
    partial.remove_all();  // the disk may be full
    throw;
  }
  sync_directory(partial);
  if (const std::error_code moved = partial.rename_to(target)) {
    throw_failure(target.string(), "cannot write: " + moved.message());
  }
  sync_directory(checkpoints);
}

}  // namespace

void save_checkpoint(const InnerPath& checkpoints, const CheckpointParts& parts,
                     const TrainingState& state,
                     const std::function<void(const InnerPath&)>& add_files) {
  const auto add_tensors = [&](const InnerPath& folder) {
    write_safetensors(folder / kModel, model_tensors(parts.parameters), kMetadata);
    write_safetensors(folder / kOptimizer, parts.moments.named, kMetadata);
    if (!parts.average.defined()) return;
    write_safetensors(folder / kAverage, average_tensors(parts), kMetadata);
  };
  write_checkpoint(checkpoints, state, add_tensors, add_files);
}

void save_weights(const InnerPath& checkpoints, std::span<const NamedTensor> weights,
                  const TrainingState& state,
                  const std::function<void(const InnerPath&)>& add_files) {
  const auto add_tensors = [&](const InnerPath& folder) {
    write_safetensors(folder / kModel, weights, kMetadata);
  };
  write_checkpoint(checkpoints, state, add_tensors, add_files);
}

void require_whole(const fs::path& checkpoint) {
  read_training_state(checkpoint);
  check_manifest(checkpoint, /*with_optimizer=*/true);
  const Safetensors model(checkpoint / kModel);
  const Safetensors optimizer(checkpoint / kOptimizer);
}

TrainingState load_checkpoint(const fs::path& checkpoint, const CheckpointParts& parts) {
  TrainingState state = read_training_state(checkpoint);
  if (step_of(checkpoint) && *step_of(checkpoint) != state.consumed.steps) {
    throw_failure(
        (checkpoint / kStateFile).string(),
        fmt::format("is of step {}, its folder's name says otherwise", state.consumed.steps));
  }
  const Safetensors model(checkpoint / kModel);
  const Safetensors optimizer(checkpoint / kOptimizer);
  const std::vector<NamedTensor> values = model_tensors(parts.parameters);
  const std::vector<NamedTensor>& moments = parts.moments.named;
  check_same(model, values);
  require_same_optimizer(optimizer, moments);
  check_same(optimizer, moments);
  std::optional<Safetensors> average;
  if (parts.average.defined() && has_average(checkpoint)) {
    average.emplace(checkpoint / kAverage);
    check_same(*average, values);
  }
  fill(values, model);
  fill(moments, optimizer);
  if (average) {
    std::vector<NamedTensor> averages = average_tensors(parts);
    std::erase_if(averages, [&](const NamedTensor& tensor) {
      return !parts.parameters.find(tensor.name)->trained;
    });
    fill(averages, *average);
  } else if (parts.average.defined()) {
    const at::NoGradGuard no_gradient;
    parts.average.copy_(parts.parameters.flat_values());
    log::info("{} has no moving average of its weights (training.ema): it begins at them",
              checkpoint.string());
  }
  return state;
}

void load_parameters(const fs::path& path, ParameterStore& parameters) {
  Safetensors model(path);
  const std::vector<NamedTensor> values = model_tensors(parameters);
  check_same(model, values);
  if (parameters.in_file()) return parameters.take(std::move(model));
  fill(values, model);
}

bool has_average(const fs::path& checkpoint) {
  return is_present(checkpoint / kAverage);
}

fs::path weights_file(const fs::path& checkpoint, WeightsKind weights) {
  if (weights == WeightsKind::raw) return checkpoint / kModel;
  if (!has_average(checkpoint)) {
    throw_usage(checkpoint.string(), "keeps no moving average of its weights",
                "--weights raw, or train with training.ema");
  }
  return checkpoint / kAverage;
}

std::vector<fs::path> list_checkpoints(const fs::path& checkpoints) {
  // A folder that cannot be read now may still have checkpoints.
  const auto require = [](const fs::path& path, const std::error_code& error) {
    const bool absent =
        error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
    if (error && !absent) throw ReadError(path, error.value());
  };
  std::map<std::int64_t, fs::path> folders;
  std::error_code error;
  fs::directory_iterator entry(checkpoints, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::optional<std::int64_t> step = step_of(entry->path());
    if (!step) continue;
    std::error_code of_entry;
    if (entry->is_directory(of_entry)) folders[*step] = entry->path();
    require(entry->path(), of_entry);
  }
  require(checkpoints, error);
  std::vector<fs::path> sorted;
  for (const auto& [step, folder] : folders) sorted.push_back(folder);
  return sorted;
}

std::vector<fs::path> best_checkpoints(const fs::path& checkpoints, const std::string& otherwise) {
  std::vector<fs::path> best;
  const std::vector<Ranked> ranked =
      rank_checkpoints(checkpoints, [&](const fs::path&, const Error& problem) {
        throw_failure(problem.parts().location, problem.parts().message,
                      "without it the best checkpoint is unknown: " + otherwise);
      });
  for (const Ranked& each : ranked) best.push_back(each.folder);
  return best;
}

fs::path find_checkpoint(const fs::path& run_or_checkpoint, const std::string& which) {
  std::error_code error;
  if (fs::exists(run_or_checkpoint / kStateFile, error)) return run_or_checkpoint;
  if (!fs::is_directory(run_or_checkpoint, error)) {
    throw_failure(run_or_checkpoint.string(), "there is no such run or checkpoint");
  }
  if (fs::exists(run_or_checkpoint / kModel, error) && step_of(run_or_checkpoint)) {
    throw_failure((run_or_checkpoint / kStateFile).string(), "is missing",
                  other_checkpoints(run_or_checkpoint));
  }
  const fs::path checkpoints = run_or_checkpoint / "checkpoints";
  const std::vector<fs::path> all = list_checkpoints(checkpoints);
  if (all.empty()) {
    refuse_study(run_or_checkpoint);
    throw_failure(run_or_checkpoint.string(), "holds no checkpoint");
  }
  if (which == "last") return all.back();
  if (which == "best") {
    const std::vector<fs::path> best =
        best_checkpoints(checkpoints, "--checkpoint last, or one by its step");
    return best.empty() ? all.back() : best.front();
  }
  std::vector<std::int64_t> steps;
  for (const fs::path& folder : all) steps.push_back(*step_of(folder));
  std::int64_t step = -1;
  const auto parsed = std::from_chars(which.data(), which.data() + which.size(), step);
  if (parsed.ec != std::errc() || parsed.ptr != which.data() + which.size()) {
    throw_usage("--checkpoint", "\"" + which + "\" is not best, last or a step");
  }
  const auto found = std::ranges::find(steps, step);
  if (found == steps.end()) {
    throw_failure(run_or_checkpoint.string(), fmt::format("has no checkpoint of step {}", which),
                  fmt::format("there are {}", fmt::join(steps, ", ")));
  }
  return all[static_cast<std::size_t>(found - steps.begin())];
}

void prune_checkpoints(const InnerPath& checkpoints, const KeptCheckpoints& kept) {
  const std::vector<fs::path> all = list_checkpoints(checkpoints);
  std::vector<fs::path> keep;
  const auto last = static_cast<std::size_t>(std::max<std::int64_t>(kept.last, kept.ended ? 0 : 1));
  keep.assign(all.end() - static_cast<std::ptrdiff_t>(std::min(last, all.size())), all.end());
  // A checkpoint that cannot be read now may be whole, so it is kept.
  const std::vector<Ranked> ranked = rank_checkpoints(
      checkpoints, [&](const fs::path& folder, const Error&) { keep.push_back(folder); });
  for (std::size_t i = 0; i < ranked.size() && i < static_cast<std::size_t>(kept.best); ++i) {
    keep.push_back(ranked[i].folder);
  }
  for (const fs::path& folder : all) {
    if (std::ranges::find(keep, folder) == keep.end()) {
      remove_folder(checkpoints, folder.filename().string());
    }
  }
}

void require_sound(const fs::path& checkpoint) {
  check_manifest(checkpoint, /*with_optimizer=*/false);
}

bool has_gone(const fs::path& checkpoint) {
  return !is_present(checkpoint);
}

void set_checkpoint_aside(const InnerPath& checkpoints, const std::string& name) {
  const InnerPath checkpoint = checkpoints / name, aside = checkpoints / (name + ".damaged");
  aside.remove_all();
  checkpoint.move_to(aside);
}

void remove_partial_checkpoints(const InnerPath& checkpoints) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoints.path(), error)) {
    if (entry.path().extension() != kPartial) continue;
    remove_folder(checkpoints, entry.path().filename().string());
  }
}

}  // namespace roformer
