#include "config/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/printable.h"
#include "config/attention_settings.h"
#include "config/data_settings.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/schemes/check.h"
#include "config/schemes/definition.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

class Checker {
 public:
  Checker(const Settings& settings, const Contradictions& contradictions)
      : s_(settings), contradictions_(contradictions) {}

  void run() {
    run_name();
    tasks();
    model();
    data();
    const TaskFacts& task = task_facts(s_.task);
    const std::int64_t own = s_.translation.decoder_layers;
    const std::int64_t decoder = task.has_decoder && own > 0 ? own : s_.model.layers;
    attention_layers(s_.model.layers);
    if (decoder != s_.model.layers) attention_layers(decoder);
    scheme({.position = s_.position, .causal = task.causal, .layers = s_.model.layers});
    if (task.has_decoder) {
      const bool same = s_.position.decoder == "same";
      scheme({.position = s_.position.of_decoder(),
              .choice = same ? "position.scheme" : "position.decoder",
              .causal = true,
              .layers = decoder});
    }
    classes("classification.classes", s_.classification.classes);
    classes("tagging.classes", s_.tagging.classes);
    training();
    ranking();
    decoding();
    stages();
  }

 private:
  const Settings& s_;
  const Contradictions& contradictions_;

  void problem(const std::vector<std::string>& keys, std::string message, std::string hint = "") {
    contradictions_.add(keys, std::move(message), std::move(hint));
  }

  void run_name() {
    if (!is_folder_name(s_.run)) {
      problem({"run"}, fmt::format("got \"{}\", wanted the name of one folder", s_.run),
              "the folder around it is `runs`");
    }
  }

  void classes(const char* key, const std::vector<std::string>& names) {
    std::set<std::string_view> seen;
    for (const std::string& name : names) {
      if (seen.insert(name).second) continue;
      problem({key}, fmt::format("names {} twice", printable(name)),
              "give each output a different name");
      return;
    }
  }

  // Reports keys that the task does not read, which would otherwise look as if they had an effect.
  void tasks() {
    static const Settings defaults;
    for (const Key& key : schema()) {
      const std::string value = key.get(s_);
      if (key.applies_to(s_.task) || value == key.get(defaults)) continue;
      std::string served;
      for (const TaskKind task : key.tasks) served += (served.empty() ? "" : ", ") + to_word(task);
      problem({key.name, "task"},
              fmt::format("got {}, but the task {} does not use it", value, to_word(s_.task)),
              key.name.starts_with("tokenizer.")
                  ? "the data set's tokenizer is taken: roformer data prepare --tokenizer FILE"
                  : "it is for " + served);
    }
  }

  void model() {
    const ModelSettings& model = s_.model;
    if (model.head_width == 0 && model.width % model.heads != 0) {
      problem({"model.width", "model.heads"},
              fmt::format("{} features cannot be divided among {} heads", model.width, model.heads),
              fmt::format("{} or {} can", model.width / model.heads * model.heads,
                          (model.width / model.heads + 1) * model.heads));
    }
    blocks();
    if (model.freeze_layers > model.layers) {
      problem(
          {"model.freeze_layers", "model.layers"},
          fmt::format("got {}, but the model has {} layers", model.freeze_layers, model.layers));
    }
  }

  void blocks() {
    const ModelSettings& model = s_.model;
    if (model.heads % model.heads_of_keys() != 0) {
      problem({"model.key_value_heads", "model.heads"},
              fmt::format("got {}, which {} heads of queries cannot share evenly",
                          model.key_value_heads, model.heads),
              "a divisor of model.heads");
    }
    if (model.norm_kind == NormKind::rms_norm && model.bias) {
      problem(
          {"model.norm_kind", "model.bias"},
          "got rms_norm with model.bias true, but RMSNorm has no bias",
          "model.bias: false; model.query_key_value_bias gives one to queries, keys and values");
    }
    if (model.embedding_norm && model.norm == NormPlacement::post) {
      problem({"model.embedding_norm", "model.norm"},
              "got true with norms after the residual sums, where the embedding always has one",
              "model.norm: pre, or no model.embedding_norm");
    }
    if (!model.first_norm && model.norm == NormPlacement::post) {
      problem({"model.first_norm", "model.norm"},
              "got false with norms after the residual sums: the first layer has none before it",
              "model.norm: pre");
    }
    if (model.parallel_residual && model.norm == NormPlacement::post) {
      problem({"model.parallel_residual", "model.norm"},
              "got true with norms after the residual sums, which leave no common input",
              "model.norm: pre");
    }
    const bool narrow = model.embedding_width > 0 && model.embedding_width != model.width;
    if (model.head == LanguageHeadKind::linear && model.tie_output && narrow) {
      problem({"model.head", "model.tie_output", "model.embedding_width", "model.width"},
              fmt::format("got linear, but the token table that it shares has {} features and the "
                          "model {}",
                          model.embedding_width, model.width),
              "model.tie_output: false, or no model.embedding_width");
    }
    if (s_.task == TaskKind::translation && s_.translation.tie_output && narrow) {
      problem({"translation.tie_output", "model.embedding_width", "model.width"},
              fmt::format("got true, but the token table has {} features and the model {}",
                          model.embedding_width, model.width),
              "translation.tie_output: false, or no model.embedding_width");
    }
  }

  void data() {
    const MaskingSettings& masking = s_.data.masking;
    if (masking.mask + masking.random > 1 + 1e-9) {
      problem(
          {"data.masking.random", "data.masking.mask"},
          fmt::format("mask {} and random {} add up to more than 1", masking.mask, masking.random),
          "the rest of the chosen tokens stays as it is");
    }
    const TaskData data = task_facts(s_.task).data;
    const bool texts = data == TaskData::glue_folder || data == TaskData::labelled_files ||
                       data == TaskData::matching_folder;
    if (texts && s_.data.length < 3) {
      problem({"data.length", "task"},
              fmt::format("got {}, but [CLS] and two [SEP] take 3 positions", s_.data.length));
    }
  }

  void scheme(const SchemeCheck::Use& use) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(use.layers));
    std::iota(all.begin(), all.end(), 0);
    scheme(use, all);
  }

  // `layers`: the layers that use the scheme.
  void scheme(const SchemeCheck::Use& use, const std::vector<std::int64_t>& layers) {
    const SchemeDefinition* const scheme = find_scheme_definition(use.position.scheme);
    if (scheme == nullptr) return;  // the unknown name is already reported
    const SchemeCheck check(s_, use, contradictions_);
    if (scheme->facts.causal_only && check.both_sides()) {
      problem({use.choice, "task"},
              fmt::format("{} looks only to the left and cannot serve the task {}, whose encoder "
                          "looks to both sides",
                          scheme->facts.name, check.task()),
              "it works with task: causal_lm");
    }
    if (scheme->check) scheme->check(check);
    if (!scheme->parts) {
      linear_attention(scheme->facts, use, layers);
      return;
    }
    try {
      for (const SchemePart& part : scheme_parts(use.position, use.layers)) {
        this->scheme({.position = part.position,
                      .choice = use.choice,
                      .causal = use.causal,
                      .layers = use.layers},
                     part.layers);
      }
    } catch (const InvalidValue&) {
      return;  // the scheme's own check reports it
    }
  }

  void attention_layers(std::int64_t layers) {
    try {
      const auto all = attention_of_layers(s_.attention, layers);
      const bool by_text =
          std::ranges::find(all, LogNScaling::encoder, &AttentionSettings::log_n) != all.end();
      const TaskFacts& facts = task_facts(s_.task);
      if (by_text && (facts.causal || facts.has_decoder)) {
        problem({"attention.log_n", "task"},
                "encoder scales by the length of the whole text, which a token that is predicted "
                "from those before it cannot know",
                "attention.log_n: query");
      }
    } catch (const InvalidValue& invalid) {
      problem({"attention.layers", "model.layers"}, fmt::format("wanted {}", invalid.what()),
              invalid.hint);
    }
  }

  static std::string linear_schemes() {
    std::vector<std::string_view> names;
    for (const PositionFacts& facts : position_facts()) {
      if (facts.linear_attention) names.push_back(facts.name);
    }
    const std::string_view last = names.back();
    names.pop_back();
    return fmt::format("{} and {}", fmt::join(names, ", "), last);
  }

  void linear_attention(const PositionFacts& facts, const SchemeCheck::Use& use,
                        const std::vector<std::int64_t>& layers) {
    try {
      const auto all = attention_of_layers(s_.attention, use.layers);
      for (const std::int64_t layer : layers) {
        linear_attention(facts, use.choice, all[static_cast<std::size_t>(layer)]);
      }
    } catch (const InvalidValue&) {
      return;  // reported for attention.layers
    }
  }

  // Checks one layer. A problem that several layers have is reported once.
  void linear_attention(const PositionFacts& facts, const std::string& choice,
                        const AttentionSettings& attention) {
    if (attention.kernel == AttentionKernel::softmax) return;
    const std::string kernel = to_word(attention.kernel);
    if (!facts.linear_attention) {
      problem({"attention.kernel", choice},
              fmt::format("linear attention ({}) has no scores that {} could change", kernel,
                          facts.name),
              linear_schemes() + " work with it");
    }
    if (attention.dropout > 0) {
      problem({"attention.dropout", "attention.kernel"},
              fmt::format("linear attention ({}) has no probabilities to drop", kernel),
              "attention.dropout: 0");
    }
    if (attention.window > 0) {
      problem({"attention.window", "attention.kernel"},
              fmt::format("linear attention ({}) has no window", kernel), "attention.window: 0");
    }
    if (attention.log_n != LogNScaling::none) {
      problem({"attention.log_n", "attention.kernel"},
              fmt::format("linear attention ({}) has no scores to scale", kernel),
              "attention.log_n: none");
    }
    const bool rotated = facts.rotary && attention.linear_rotation == LinearRotation::numerator;
    const std::int64_t features = linear_feature_count(attention, s_.model.features_of_head());
    if (rotated && features % 2 != 0) {
      problem({"attention.features", "model.heads", "model.width", choice, "attention.kernel"},
              fmt::format("got {}, but {} rotates pairs of features", features, facts.name),
              "an even number");
    }
  }

  void ranking() {
    if (s_.task != TaskKind::classification) return;
    const TaskFacts& facts = task_facts(s_.task);
    std::vector<std::string> names{"auto"};
    for (const TaskFigure& figure : facts.figures(s_)) {
      if (figure.figure == facts.ranked_by(s_)) return;
      if (figure.figure != "collapsed") names.push_back(figure.figure);
    }
    problem({"classification.metric", "classification.kind"},
            fmt::format("got {}, which classification.kind {} does not have",
                        to_word(s_.classification.metric), to_word(s_.classification.kind)),
            one_of(names));
  }

  void decoding() {
    const std::int64_t own = s_.translation.decoder_layers;
    const std::int64_t layers = own > 0 ? own : s_.model.layers;
    if (!task_facts(s_.task).has_decoder || s_.decoding.alignment_layer <= layers) return;
    problem(
        {"decoding.alignment_layer", "translation.decoder_layers", "model.layers"},
        fmt::format("got {}, but the decoder has {} layers", s_.decoding.alignment_layer, layers),
        "0 is the last");
  }

  // data.length is the longest length of any stage, so its checks cover every stage.
  void stages() {
    if (s_.stages.empty()) return;
    const std::int64_t steps = total_steps(s_.stages);
    if (s_.training.steps != Period{static_cast<double>(steps)}) {
      problem({"training.steps", "stages"},
              fmt::format("got {}, but the stages have {} steps together",
                          to_string(s_.training.steps), steps),
              "leave training.steps out: it is their sum; train --smoke tries two steps of each");
    }
    if (s_.training.warmup.unit != Period::Unit::steps) {
      problem({"training.warmup", "stages"},
              fmt::format("got {}, but stages are counted in steps", to_string(s_.training.warmup)),
              "a number of steps");
    }
    for (std::size_t i = 0; i < s_.stages.size(); ++i) {
      const std::int64_t length = s_.stages[i].length.value_or(s_.data.length);
      if (length <= s_.data.length) continue;
      problem({"stages", "data.length"},
              fmt::format("stage {} has rows of {} tokens, but data.length is {}", i + 1, length,
                          s_.data.length),
              fmt::format("data.length: {}, the longest: the model is made for it, and checkpoints "
                          "are ranked by it",
                          length));
    }
  }

  void training() {
    const TrainingSettings& training = s_.training;
    const std::pair<const char*, const Period&> periods[] = {
        {"training.steps", training.steps},
        {"training.warmup", training.warmup},
        {"training.decay", training.decay},
        {"training.log_every", training.log_every},
        {"training.validate_every", training.validate_every},
        {"training.save_every", training.save_every}};
    for (const auto& [key, period] : periods) {
      if (task_facts(s_.task).data != TaskData::generated) break;
      if (period.unit != Period::Unit::epochs || period.is_zero()) continue;
      problem({key, "task"},
              fmt::format("got {}, but data that are made as they are needed have no epochs",
                          to_string(period)),
              "a number of steps");
    }
    if (training.steps.is_zero()) {
      problem({"training.steps"}, "got 0, wanted a period above 0");
    }
    if (!training.warmup.is_zero() && training.warmup_ratio > 0) {
      problem({"training.warmup_ratio", "training.warmup"},
              fmt::format("got {} beside training.warmup {}", training.warmup_ratio,
                          to_string(training.warmup)),
              "set one of the two");
    }
    if (training.initial_learning_rate > training.learning_rate) {
      problem({"training.initial_learning_rate", "training.learning_rate"},
              fmt::format("the warm-up cannot rise from {:g} to the peak {:g}",
                          training.initial_learning_rate, training.learning_rate),
              "RoFormer's translator: from 1e-7 to 5e-4");
    }
    if (training.weights == WeightsKind::ema && training.ema == 0) {
      problem({"training.weights", "training.ema"},
              "got ema, but the training keeps no average of its weights",
              "training.ema: 0.999 keeps one");
    }
    compare_with_steps("training.warmup", training.warmup);
    compare_with_steps("training.decay", training.decay);
    const bool same_unit = training.warmup.unit == training.steps.unit;
    if (same_unit && training.warmup.amount > training.steps.amount) {
      problem({"training.warmup", "training.steps"},
              fmt::format("{} is longer than the training ({})", to_string(training.warmup),
                          to_string(training.steps)),
              "--training.warmup 0 --training.warmup_ratio 0.1 is a tenth of any training");
    }
    if (training.batch_tokens > 0 && training.batch_tokens < s_.data.length) {
      problem({"training.batch_tokens", "data.length"},
              fmt::format("{} tokens do not hold one row of data.length {}", training.batch_tokens,
                          s_.data.length));
    }
    decay();
    idle_muon();
  }

  void compare_with_steps(const char* key, const Period& period) {
    const Period& steps = s_.training.steps;
    const bool any_minutes =
        period.unit == Period::Unit::minutes || steps.unit == Period::Unit::minutes;
    if (period.is_zero() || period.unit == steps.unit || !any_minutes) return;
    problem({key, "training.steps"},
            fmt::format("{} cannot be compared with training.steps {}", to_string(period),
                        to_string(steps)),
            "give both in minutes, or neither");
  }

  // A period as a share of the training; empty if only the data can tell.
  std::optional<double> share(const Period& period, double ratio) const {
    const Period& steps = s_.training.steps;
    if (period.is_zero()) return ratio;
    if (period.unit != steps.unit) return std::nullopt;
    return period.amount / steps.amount;
  }

  // The decay of wsd.
  void decay() {
    const TrainingSettings& training = s_.training;
    static const TrainingSettings defaults;
    const bool by_ratio = training.decay_ratio != defaults.decay_ratio;
    if (training.schedule != ScheduleKind::wsd) {
      const auto idle = [&](const char* key, const std::string& value) {
        problem({key, "training.schedule"},
                fmt::format("got {}, but the schedule {} has no separate decay", value,
                            to_word(training.schedule)),
                "training.schedule: wsd");
      };
      if (!training.decay.is_zero()) idle("training.decay", to_string(training.decay));
      if (by_ratio) idle("training.decay_ratio", fmt::format("{}", training.decay_ratio));
      return;
    }
    if (!training.decay.is_zero() && by_ratio && training.decay_ratio > 0) {
      problem({"training.decay_ratio", "training.decay"},
              fmt::format("got {} beside training.decay {}", training.decay_ratio,
                          to_string(training.decay)),
              "set one of the two");
      return;
    }
    const std::optional<double> rise = share(training.warmup, training.warmup_ratio),
                                fall = share(training.decay, training.decay_ratio);
    if (rise && fall && *rise <= 1 && *rise + *fall > 1 + 1e-9) {
      problem({"training.decay", "training.decay_ratio", "training.warmup", "training.steps"},
              fmt::format("a warm-up of {:.4g} and a decay of {:.4g} of the run ({}) are together "
                          "longer than the run",
                          *rise, *fall, to_string(training.steps)),
              "--training.decay 0 --training.decay_ratio 0.1 is a tenth of any training");
    }
  }

  void idle_muon() {
    if (s_.training.optimizer == OptimizerKind::muon) return;
    static const Settings defaults;
    for (const Key& key : schema()) {
      if (!key.name.starts_with("training.muon.")) continue;
      const std::string value = key.get(s_);
      if (value == key.get(defaults)) continue;
      problem({key.name, "training.optimizer"},
              fmt::format("got {}, but training.optimizer is {}", value,
                          to_word(s_.training.optimizer)),
              "training.optimizer: muon");
    }
  }
};

}  // namespace

void check(const Settings& settings, const SourceLocations& locations,
           const std::set<std::string>& wrong, Problems& problems) {
  Checker(settings, Contradictions(locations, wrong, problems)).run();
}

bool is_folder_name(const std::string& name) {
  const bool printable =
      std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
  return printable && name.find_first_of("/\\") == std::string::npos && name != "." &&
         name != ".." && !name.starts_with('-') && name.size() <= 200;
}

void Contradictions::add(const std::vector<std::string>& keys, std::string message,
                         std::string hint) const {
  for (const std::string& key : keys) {
    if (wrong_.contains(key)) return;
  }
  const auto set = std::ranges::find_if(
      keys, [this](const std::string& key) { return locations_.contains(key); });
  const bool by_default = set == keys.end();
  problems_.add(by_default ? "default" : locations_.at(*set), by_default ? keys.front() : *set,
                std::move(message), std::move(hint));
}

}  // namespace roformer
