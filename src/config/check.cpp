#include "config/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "config/position_facts.h"
#include "config/schema.h"
#include "config/words.h"

namespace roformer {
namespace {

class Checker {
 public:
  Checker(const Settings& settings, const Places& places, const std::set<std::string>& wrong,
          Problems& problems)
      : s_(settings), places_(places), wrong_(wrong), problems_(problems) {}

  void run() {
    run_name();
    tasks();
    model();
    data();
    if (const PositionFacts* facts = find_position_facts(s_.position.scheme)) {
      scheme_and_task(*facts);
      rotary(*facts);
      linear_attention(*facts);
    }
    scheme_options();
    rope_scaling();
    training();
  }

 private:
  const Settings& s_;
  const Places& places_;
  const std::set<std::string>& wrong_;
  Problems& problems_;

  bool encoder() const { return s_.task != TaskKind::causal_lm; }

  // `keys` contradict each other: reported where the first of them stands that the user set. A key
  // with a wrong value has been reported already, and its default proves nothing.
  void problem(std::vector<std::string> keys, std::string message, std::string hint = "") {
    for (const std::string& key : keys) {
      if (wrong_.contains(key)) return;
    }
    const auto set = std::find_if(keys.begin(), keys.end(),
                                  [this](const std::string& key) { return places_.contains(key); });
    const bool by_default = set == keys.end();
    problems_.add({.place = by_default ? "default" : places_.at(*set),
                   .key = by_default ? keys.front() : *set,
                   .message = std::move(message),
                   .hint = std::move(hint)});
  }

  void run_name() {
    const std::string& run = s_.run;
    const bool plain = run.find_first_of("/\\") == std::string::npos && run != "." && run != ".." &&
                       !run.starts_with('-');
    bool printable = true;
    for (const char c : run) printable = printable && static_cast<unsigned char>(c) >= 0x20;
    if (!plain || !printable || run.size() > 200) {
      problem({"run"}, fmt::format("got \"{}\", wanted the name of one folder", run),
              "the folder around it is `runs`");
    }
  }

  // A key that the task does not read must not look as if it did something.
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
    if (model.width % model.heads != 0) {
      problem({"model.width", "model.heads"},
              fmt::format("{} features cannot be divided among {} heads", model.width, model.heads),
              fmt::format("{} or {} can", model.width / model.heads * model.heads,
                          (model.width / model.heads + 1) * model.heads));
    }
    if (model.freeze_layers > model.layers) {
      problem(
          {"model.freeze_layers", "model.layers"},
          fmt::format("got {}, but the model has {} layers", model.freeze_layers, model.layers));
    }
    const std::int64_t embedding = model.embedding_width ? model.embedding_width : model.width;
    if (s_.position.scheme == "sinusoidal" && embedding % 2 != 0) {
      problem({"model.embedding_width", "model.width", "position.scheme"},
              fmt::format("sinusoidal needs pairs of features, got {}", embedding),
              "an even width");
    }
  }

  void data() {
    const MaskingSettings& masking = s_.data.masking;
    if (masking.mask + masking.random > 1 + 1e-9) {
      problem({"data.masking.random", "data.masking.mask"},
              fmt::format("mask {} and random {} are more than 1 together", masking.mask,
                          masking.random),
              "the rest of the chosen tokens stays as it is");
    }
    if (s_.task == TaskKind::glue && s_.data.length < 3) {
      problem({"data.length", "task"},
              fmt::format("got {}, but [CLS] and two [SEP] take 3 places", s_.data.length));
    }
    const std::int64_t longest = maximal_length(s_.position);
    if (longest > 0 && s_.data.length > longest && s_.position.scheme == "xpos") {
      problem({"position.xpos.scale_base", "data.length", "position.xpos.gamma", "position.scheme"},
              fmt::format("the factors of scale_base {} leave float's range from {} tokens on, and "
                          "data.length is {}",
                          s_.position.xpos.scale_base, longest, s_.data.length),
              "position.xpos.scale_base: 512");
    } else if (longest > 0 && s_.data.length > longest) {
      problem({"data.length", "position.scheme", "position.learned.length",
               "position.music_transformer.length", "position.tupe.length",
               "position.learned.hierarchical"},
              fmt::format("got {}, but {} has a table of {} positions", s_.data.length,
                          s_.position.scheme, longest),
              fmt::format("--position.{}.length {}", s_.position.scheme, s_.data.length));
    }
  }

  void scheme_and_task(const PositionFacts& facts) {
    if (facts.causal_only && encoder()) {
      problem({"position.scheme", "task"},
              fmt::format("{} looks only to the left and cannot serve the task {}, whose encoder "
                          "looks to both sides",
                          facts.name, to_word(s_.task)),
              "it works with task: causal_lm");
    }
    if (facts.name == "alibi" && encoder() && s_.position.alibi.variant == AlibiVariant::causal) {
      problem({"position.alibi.variant", "position.scheme", "task"},
              fmt::format("causal is for a model that looks to the left; the task {} looks to "
                          "both sides",
                          to_word(s_.task)),
              "symmetric or asymmetric");
    }
  }

  void rotary(const PositionFacts& facts) {
    if (!facts.rotary || s_.model.width % s_.model.heads != 0) return;
    const std::int64_t width = rotary_width(s_);
    if (width >= 2 && width % 2 == 0) return;
    const std::int64_t head = s_.model.width / s_.model.heads;
    if (facts.name == "rope" && s_.position.rope.fraction != 1) {
      problem({"position.rope.fraction", "model.heads", "model.width", "position.scheme"},
              fmt::format("{} of a head of {} features is {}, wanted an even number of at least 2",
                          s_.position.rope.fraction, head, width));
    } else {
      problem({"model.heads", "model.width", "position.scheme"},
              fmt::format("{} turns pairs of features, but a head has {} ({} features among {} "
                          "heads)",
                          facts.name, head, s_.model.width, s_.model.heads),
              "an even number of features a head");
    }
  }

  void linear_attention(const PositionFacts& facts) {
    const AttentionSettings& attention = s_.attention;
    if (attention.kernel == AttentionKernel::softmax) return;
    const std::string kernel = to_word(attention.kernel);
    if (!facts.linear_attention) {
      problem({"attention.kernel", "position.scheme"},
              fmt::format("linear attention ({}) has no scores that {} could change", kernel,
                          facts.name),
              "rope, sinusoidal, learned and none work with it");
    }
    if (facts.name == "rope" && s_.position.rope.value) {
      problem({"position.rope.value", "attention.kernel", "position.scheme"},
              fmt::format("linear attention ({}) sums the values before any query meets them and "
                          "does not turn them",
                          kernel),
              "position.rope.value: false");
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
    const bool turned = facts.rotary && attention.linear_rotation == LinearRotation::numerator;
    if (turned && linear_features(s_) % 2 != 0) {
      problem(
          {"attention.features", "model.heads", "model.width", "position.scheme",
           "attention.kernel"},
          fmt::format("got {}, but {} turns pairs of features", linear_features(s_), facts.name),
          "an even number");
    }
  }

  void scheme_options() {
    const PositionSettings& position = s_.position;
    if (position.scheme == "t5") {
      buckets("position.t5", position.t5.buckets, position.t5.max_distance);
    } else if (position.scheme == "tupe" && position.tupe.relative) {
      buckets("position.tupe", position.tupe.buckets, position.tupe.max_distance);
    } else if (position.scheme == "deberta") {
      deberta();
    } else if (position.scheme == "sandwich" && position.sandwich.width % 2 != 0) {
      problem({"position.sandwich.width"},
              fmt::format("got {}, wanted an even number", position.sandwich.width));
    } else if (position.scheme == "nezha" && s_.model.width / s_.model.heads % 2 != 0) {
      problem({"model.heads", "model.width", "position.scheme"},
              fmt::format("nezha needs an even number of features a head, got {}",
                          s_.model.width / s_.model.heads));
    } else if (position.scheme == "transformer_xl" && s_.model.width % 2 != 0) {
      problem({"model.width", "position.scheme"},
              fmt::format("transformer_xl needs an even number, got {}", s_.model.width));
    } else if (position.scheme == "alibi" && position.alibi.trained &&
               position.alibi.variant != AlibiVariant::asymmetric) {
      problem({"position.alibi.trained", "position.alibi.variant", "position.scheme"},
              "only the slopes of variant asymmetric can be trained");
    } else if (position.scheme == "rerope" && position.rerope.leak > 0 &&
               position.rerope.leak < 1) {
      problem({"position.rerope.leak"},
              fmt::format("got {}, wanted 0 (no leak) or a number of at least 1",
                          position.rerope.leak));
    }
  }

  // Half of the buckets (of one side's in an encoder) hold one distance each; the logarithmic rest
  // must begin before the largest distance.
  void buckets(const std::string& section, std::int64_t count, std::int64_t max_distance) {
    const std::int64_t sides = encoder() ? 2 : 1;
    if (count % (2 * sides) != 0) {
      problem({section + ".buckets", "position.scheme", "task"},
              fmt::format("got {}, wanted a multiple of {} for the task {}", count, 2 * sides,
                          to_word(s_.task)));
    } else if (max_distance <= count / (2 * sides)) {
      problem({section + ".max_distance", section + ".buckets", "position.scheme", "task"},
              fmt::format("got {}, wanted more than {}, the distances that {} buckets hold singly",
                          max_distance, count / (2 * sides), count));
    }
  }

  void deberta() {
    const auto& deberta = s_.position.deberta;
    if (!deberta.content_to_position && !deberta.position_to_content) {
      problem({"position.deberta.content_to_position", "position.deberta.position_to_content"},
              "without both terms nothing knows the positions", "position: none");
    }
    if (deberta.buckets > 0 && deberta.max_position - 1 <= deberta.buckets / 2) {
      problem({"position.deberta.max_position", "position.deberta.buckets"},
              fmt::format("got {}, wanted more than half of the {} buckets plus one",
                          deberta.max_position, deberta.buckets));
    }
    if (deberta.buckets == 1) {
      problem({"position.deberta.buckets"}, "got 1, wanted 0 (none) or at least 2");
    }
  }

  void rope_scaling() {
    const auto& rope = s_.position.rope;
    if (s_.position.scheme != "rope") return;
    if (rope.scaling == RopeScaling::none && rope.factor != 1) {
      problem({"position.rope.factor", "position.rope.scaling"},
              fmt::format("got {}, but there is no scaling that would use it", rope.factor),
              "choose position.rope.scaling");
    }
    if (rope.scaling == RopeScaling::yarn || rope.scaling == RopeScaling::yarn_paper) {
      if (rope.beta_fast <= rope.beta_slow) {
        problem(
            {"position.rope.beta_fast", "position.rope.beta_slow"},
            fmt::format("got {}, wanted more than beta_slow ({})", rope.beta_fast, rope.beta_slow));
      }
    }
    if (rope.scaling == RopeScaling::llama3 &&
        rope.high_frequency_factor <= rope.low_frequency_factor) {
      problem({"position.rope.high_frequency_factor", "position.rope.low_frequency_factor"},
              fmt::format("got {}, wanted more than low_frequency_factor ({})",
                          rope.high_frequency_factor, rope.low_frequency_factor));
    }
    const bool by_base =
        rope.scaling == RopeScaling::ntk || rope.scaling == RopeScaling::dynamic_ntk;
    if (by_base && rotary_width(s_) <= 2) {
      problem(
          {"position.rope.scaling", "position.rope.fraction", "model.width", "model.heads"},
          fmt::format("{} needs at least two pairs of rotated features", to_word(rope.scaling)));
    }
  }

  void training() {
    const TrainingSettings& training = s_.training;
    if (training.steps.is_zero()) {
      problem({"training.steps"}, "got 0, wanted a period above 0");
    }
    if (!training.warmup.is_zero() && training.warmup_ratio > 0) {
      problem({"training.warmup_ratio", "training.warmup"},
              fmt::format("got {} beside training.warmup {}", training.warmup_ratio,
                          to_string(training.warmup)),
              "set one of the two");
    }
    const bool same_unit = training.warmup.unit == training.steps.unit;
    const bool any_minutes = training.warmup.unit == Period::Unit::minutes ||
                             training.steps.unit == Period::Unit::minutes;
    if (!training.warmup.is_zero() && !same_unit && any_minutes) {
      problem({"training.warmup", "training.steps"},
              fmt::format("{} cannot be compared with training.steps {}",
                          to_string(training.warmup), to_string(training.steps)),
              "give both in minutes, or neither");
    }
    if (same_unit && training.warmup.amount > training.steps.amount) {
      problem({"training.warmup", "training.steps"},
              fmt::format("{} is longer than the training ({})", to_string(training.warmup),
                          to_string(training.steps)));
    }
    if (training.batch_tokens > 0 && training.batch_tokens < s_.data.length) {
      problem({"training.batch_tokens", "data.length"},
              fmt::format("{} tokens do not hold one row of data.length {}", training.batch_tokens,
                          s_.data.length));
    }
  }
};

}  // namespace

std::int64_t rotary_width(const Settings& settings) {
  const std::int64_t head = settings.model.width / settings.model.heads;
  if (settings.position.scheme != "rope") return head;
  // Rounded, because a fraction such as 0.3 is not exact in binary.
  return std::llround(static_cast<double>(head) * settings.position.rope.fraction);
}

std::int64_t linear_features(const Settings& settings) {
  const std::int64_t head = settings.model.width / settings.model.heads;
  if (settings.attention.kernel != AttentionKernel::favor) return head;
  if (settings.attention.features > 0) return settings.attention.features;
  const double width = static_cast<double>(head);
  return std::max<std::int64_t>(2, 2 * std::llround(width * std::log(width) / 2));
}

void check(const Settings& settings, const Places& places, const std::set<std::string>& wrong,
           Problems& problems) {
  Checker(settings, places, wrong, problems).run();
}

}  // namespace roformer
