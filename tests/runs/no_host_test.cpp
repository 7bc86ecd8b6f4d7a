// A training step and a validation batch as a GPU would take them, on LibTorch's `meta` device,
// whose tensors have shapes and no numbers. Whatever reads a tensor's memory (a loop of our own,
// item(), a copy to the host) throws there, so a step that passes waits for no device and has an
// ATen form of every loop. What meta tensors let through is watched at every operation: a tensor on
// the host among those of the device, a copy that the host waits for.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/library.h>

#include <algorithm>
#include <set>

#include "catch.h"
#include "config/position_facts.h"
#include "runs/meta_kernels.h"
#include "runs/tiny_chinese.h"
#include "runs/tiny_glue.h"
#include "runs/tiny_run.h"
#include "runs/tiny_translation.h"
#include "tasks/task_definition.h"
#include "training/training_step.h"
#include "training/weight_average.h"

using namespace roformer;

TORCH_LIBRARY_IMPL(aten, Meta, library) {
  for (const char* name : {"_fused_adamw_",
                           "abs.out",
                           "eye.m_out",
                           "flip",
                           "index_select",
                           "linalg_solve_triangular",
                           "log_sigmoid_backward",
                           "log_sigmoid_forward",
                           "logical_and.out",
                           "logical_not.out",
                           "logical_or.out",
                           "logsumexp.out",
                           "max",
                           "min",
                           "mse_loss_backward",
                           "native_layer_norm",
                           "native_layer_norm_backward",
                           "relu",
                           "roll",
                           "unfold_backward",
                           "where.self",
                           "where.self_out"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&shapes_of_host>());
  }
  library.impl("_flash_attention_forward", flash_attention_forward);
  library.impl("_flash_attention_backward", flash_attention_backward);
  // A GPU's product of bfloat16 with sums in float, which the host has not.
  library.impl("bmm.dtype", [](const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
    return at::empty({a.size(0), a.size(1), b.size(2)}, a.options().dtype(type));
  });
}

namespace {

std::vector<at::Tensor> tensors_of(const c10::IValue& value) {
  if (value.isTensor()) return {value.toTensor()};
  std::vector<at::Tensor> all;
  if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) {
      if (each.isTensor()) all.push_back(each.toTensor());
    }
  }
  return all;
}

class DeviceWatch {
 public:
  DeviceWatch()
      : handle_(
            at::addThreadLocalCallback(at::RecordFunctionCallback(look).needsInputs(true).scopes(
                {at::RecordScope::FUNCTION}))) {
    found().clear();
    seen() = 0;
  }
  ~DeviceWatch() { at::removeCallback(handle_); }
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  static std::set<std::string>& found() {
    static std::set<std::string> operations;
    return operations;
  }
  static std::int64_t& seen() {
    static std::int64_t operations = 0;
    return operations;
  }

 private:
  at::CallbackHandle handle_;

  static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& function) {
    ++seen();
    const std::string name = function.name();
    const auto inputs = function.inputs();
    if (name == "aten::copy_") {
      const at::Tensor to = inputs[0].toTensor(), from = inputs[1].toTensor();
      if (to.is_meta() && from.is_cpu() && !inputs[2].toBool()) found().insert("copy that waits");
      return nullptr;
    }
    bool host = false, device = false;
    for (const c10::IValue& input : inputs) {
      for (const at::Tensor& tensor : tensors_of(input)) {
        if (!tensor.defined()) continue;
        device = device || tensor.is_meta();
        host = host || (tensor.is_cpu() && tensor.dim() > 0);
      }
    }
    if (host && device) found().insert(name);
    return nullptr;
  }
};

const ComputePlan& plan_of(Precision precision) {
  static const ComputePlan fp32{.device = c10::kMeta, .precision = Precision::fp32};
  static const ComputePlan bf16{.device = c10::kMeta, .precision = Precision::bf16};
  return precision == Precision::bf16 ? bf16 : fp32;
}

// A step of two micro-batches, the weights' average, and a batch as the validation computes it.
void train(const Settings& settings, Precision precision) {
  const OpenedTask opened = open_task({.settings = settings, .plan = plan_of(precision)});
  TrainingTask& task = *opened.task;
  Optimizer optimizer(task.parameters(), optimizer_options(settings.training));
  WeightAverage average(task.parameters(), 0.9);
  const DeviceWatch watch;
  task.parameters().apply_constraints();
  std::vector<std::unique_ptr<TrainingBatch>> batches;
  for (std::int64_t micro = 0; micro < 2; ++micro) batches.push_back(task.make_batch(micro));
  const StepResult result =
      take_training_step(task, optimizer, std::move(batches), {.learning_rate = 1e-3, .clip = 1});
  average.update(1);
  REQUIRE(result.sums.loss.is_meta());
  REQUIRE(result.outcome.gradient_norm.is_meta());
  REQUIRE(result.outcome.skipped.is_meta());
  {
    const at::NoGradGuard no_gradient;
    const WeightAverage::Loan loan(average);
    REQUIRE(task.loss_sum(*task.make_batch(9), {}).is_meta());
  }
  CHECK(DeviceWatch::seen() > 100);
  CHECK(DeviceWatch::found() == std::set<std::string>{});
}

void train(const Settings& settings) {
  // Casts and kernels are those of bfloat16; float32 has fewer of them.
  const bool both = settings.task == TaskKind::mlm;
  for (const Precision precision : {Precision::bf16, Precision::fp32}) {
    if (precision == Precision::fp32 && !both) continue;
    INFO(settings.position.scheme << (precision == Precision::bf16 ? ", bf16" : ", fp32"));
    try {
      train(settings, precision);
    } catch (const c10::Error& error) {
      FAIL_CHECK(error.what_without_backtrace());
    } catch (const std::exception& error) {
      FAIL_CHECK(error.what());
    }
  }
}

const std::vector<Override> kDropout = {{"model.dropout", "0.1"}};

std::vector<Override> with(std::vector<Override> all, const std::vector<Override>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Schemes that serve a task: all of them in a causal one.
std::vector<std::string> schemes(bool causal) {
  std::vector<std::string> names;
  for (const PositionFacts& facts : position_facts()) {
    if (causal || !facts.causal_only) names.emplace_back(facts.name);
  }
  return names;
}

Settings fitted(Settings settings, const std::string& scheme, bool causal) {
  settings.position.scheme = scheme;
  fit_to(settings.position, {.length = 64, .causal = causal});
  keep_training_length(settings.position, settings.data.length);
  return settings;
}

}  // namespace

TEST_CASE("a step of a language model touches no memory of the host, under every scheme") {
  const bool causal = GENERATE(false, true);
  const std::string packed = GENERATE("true", "false");
  const TinyRun run("none", with(kDropout, {{"task", causal ? "causal_lm" : "mlm"},
                                            {"data.cross_documents", packed}}));
  CAPTURE(causal, packed);
  for (const std::string& name : schemes(causal)) train(fitted(run.settings, name, causal));
}

TEST_CASE("a step of linear attention touches no memory of the host") {
  const bool causal = GENERATE(false, true);
  const std::string kernel = GENERATE("elu", "favor");
  const std::string packed = GENERATE("true", "false");
  const TinyRun run("none", with(kDropout, {{"task", causal ? "causal_lm" : "mlm"},
                                            {"attention.kernel", kernel},
                                            {"data.cross_documents", packed}}));
  CAPTURE(causal, kernel, packed);
  for (const std::string& name : schemes(causal)) {
    if (find_position_facts(name)->linear_attention) train(fitted(run.settings, name, causal));
  }
}

TEST_CASE("dropped probabilities and layers computed again touch no memory of the host") {
  const std::string probability = GENERATE("0", "0.1");
  const TinyRun run("none", with(kDropout, {{"task", "causal_lm"},
                                            {"attention.dropout", probability},
                                            {"training.recompute", "layer"}}));
  CAPTURE(probability);
  for (const std::string& name : schemes(true)) train(fitted(run.settings, name, true));
}

TEST_CASE("a step of every kind of layer touches no memory of the host") {
  const std::vector<std::vector<Override>> models = {
      {{"model.norm", "pre"},
       {"model.norm_kind", "rms_norm"},
       {"model.bias", "false"},
       {"model.activation", "swiglu"}},
      {{"model.activation", "geglu"}, {"model.bias", "false"}},
      {{"model.activation", "geglu_tanh"}, {"model.bias", "false"}},
      {{"model.activation", "relu"}, {"model.key_value_heads", "1"}},
      {{"model.embedding_width", "16"}, {"model.tie_output", "false"}},
      {{"model.head", "linear"}, {"model.activation", "swish"}},
      {{"model.activation", "swiglu"}, {"training.optimizer", "muon"}},
      {{"attention.window", "8"}},
      {{"attention.log_n", "query"}}};
  for (std::size_t i = 0; i < models.size(); ++i) {
    CAPTURE(i);
    train(TinyRun("rope", with(kDropout, models[i])).settings);
  }
}

TEST_CASE("a step of a classifier touches no memory of the host, under every scheme") {
  const std::string task = GENERATE("mrpc", "stsb");
  const std::string pooling = GENERATE("first", "mean");
  const TinyGlue glue(task, with(kDropout, {{"model.dropout", "0.1"},
                                            {"glue.head_dropout", "0.1"},
                                            {"glue.pooling", pooling}}));
  CAPTURE(task, pooling);
  for (const std::string& name : schemes(false)) train(fitted(glue.settings, name, false));
}

TEST_CASE("a step of matching touches no memory of the host, under every scheme") {
  const TinyChinese chinese;
  const std::string loss = GENERATE("triplet", "pairs");
  const Settings settings = chinese.matching(
      "m", {{"model.dropout", "0.1"}, {"matching.head_dropout", "0.1"}, {"matching.loss", loss}});
  CAPTURE(loss);
  for (const std::string& name : schemes(false)) train(fitted(settings, name, false));
}

TEST_CASE("a step of a translator touches no memory of the host, under every scheme") {
  const TinyTranslation data;
  const std::string smoothing = GENERATE("0", "0.1");
  const Settings settings =
      data.settings("t", {{"model.dropout", "0.1"}, {"translation.label_smoothing", smoothing}});
  CAPTURE(smoothing);
  for (const std::string& name : schemes(false)) train(fitted(settings, name, false));
}
