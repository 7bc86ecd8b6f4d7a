#include "config/check.h"

#include "catch.h"
#include "config/load.h"
#include "config_helpers.h"
#include "has.h"

using namespace roformer;

namespace {

// The refusal of flags alone.
std::string message(const std::vector<Override>& flags) {
  return refusal([&] { default_settings(flags); });
}

}  // namespace

TEST_CASE("contradictory keys are refused in words, at the key that the user set") {
  CHECK(message({{"model.width", "250"}, {"model.heads", "4"}}) ==
        "--model.width: 250 features cannot be divided among 4 heads (hint: 248 or 252 can)");
  CHECK(message({{"model.heads", "3"}}) ==
        "--model.heads: 256 features cannot be divided among 3 heads (hint: 255 or 258 can)");
  CHECK(message({{"model.width", "12"}, {"model.heads", "4"}}) ==
        "--model.heads: rope rotates pairs of features, but a head has 3 (12 features among 4 "
        "heads) (hint: an even number of features a head)");
  CHECK(message({{"position.rope.fraction", "0.11"}}) ==
        "--position.rope.fraction: 0.11 of a head of 64 features is 7, wanted an even number of at "
        "least 2");
  CHECK(message({{"position", "learned"}, {"data.length", "1024"}}) ==
        "--data.length: got 1024, but learned has a table of 512 positions (hint: "
        "--position.learned.length 1024)");
  CHECK(message({{"data.masking.mask", "0.9"}, {"data.masking.random", "0.2"}}) ==
        "--data.masking.random: mask 0.9 and random 0.2 add up to more than 1 (hint: the rest "
        "of the chosen tokens stays as it is)");
  CHECK(
      message({{"training.initial_learning_rate", "0.1"}}) ==
      "--training.initial_learning_rate: the warm-up cannot rise from 0.1 to the peak 0.001 (hint: "
      "RoFormer's translator: from 1e-7 to 5e-4)");
  CHECK(has(message({{"task", "translation"}, {"position.cross", "t5"}}), "none, rope"));
  CHECK(has(message({{"task", "translation"}, {"decoding.alignment_layer", "7"}}),
            "got 7, but the decoder has"));
  CHECK(has(message({{"training.weights", "ema"}}), "keeps no average of its weights"));
  CHECK(message({{"training.warmup", "2k"}}) ==
        "--training.warmup: 2000 is longer than the training (1000) (hint: --training.warmup 0 "
        "--training.warmup_ratio 0.1 is a tenth of any training)");
  CHECK(has(message({{"run", "a/b"}}), "wanted the name of one folder"));
  CHECK(has(message({{"position.factor", "4"}}), "no scaling is set that uses it"));
}

TEST_CASE("a decay needs wsd, one length, and room in the training") {
  CHECK(message({{"training.decay", "100"}}) ==
        "--training.decay: got 100, but the schedule linear has no separate decay (hint: "
        "training.schedule: wsd)");
  CHECK(
      has(message({{"training.decay_ratio", "0.2"}}), "the schedule linear has no separate decay"));
  const auto wsd = [](std::vector<Override> flags) {
    flags.push_back({"training.schedule", "wsd"});
    return message(flags);
  };
  CHECK(wsd({{"training.decay", "100"}}) == "no error");
  CHECK(wsd({{"training.decay_ratio", "0"}}) == "no error");
  CHECK(wsd({{"training.decay", "100"}, {"training.decay_ratio", "0.2"}}) ==
        "--training.decay_ratio: got 0.2 beside training.decay 100 (hint: set one of the two)");
  CHECK(wsd({{"training.decay", "600"}, {"training.warmup", "500"}}) ==
        "--training.decay: a warm-up of 0.5 and a decay of 0.6 of the run (1000) are together "
        "longer than the run (hint: --training.decay 0 --training.decay_ratio 0.1 is a tenth of "
        "any training)");
  CHECK(wsd({{"training.decay", "600"}, {"training.warmup", "400"}}) == "no error");
  CHECK(has(wsd({{"training.decay", "2k"}}), "a decay of 2 of the run (1000)"));
  CHECK(has(wsd({{"training.decay", "5min"}}), "5min cannot be compared with training.steps 1000"));
  CHECK(has(wsd({{"task", "probe"}, {"training.decay", "1e"}}), "have no epochs"));
}

TEST_CASE("settings of muon are refused where adamw trains all parameters") {
  CHECK(message({{"training.muon.momentum", "0.9"}}) ==
        "--training.muon.momentum: got 0.9, but training.optimizer is adamw (hint: "
        "training.optimizer: muon)");
  CHECK(message({{"training.muon.momentum", "0.9"}, {"training.optimizer", "muon"}}) == "no error");
}

TEST_CASE("blocks that cannot stand together are refused") {
  const std::string no_bias = "model.bias";
  CHECK(message({{"model.heads", "4"}, {"model.key_value_heads", "3"}}) ==
        "--model.key_value_heads: got 3, which 4 heads of queries cannot share evenly (hint: a "
        "divisor of model.heads)");
  CHECK(has(message({{"model.key_value_heads", "8"}}), "4 heads of queries cannot share"));
  CHECK(message({{"model.norm_kind", "rms_norm"}}) ==
        "--model.norm_kind: got rms_norm with model.bias true, but RMSNorm has no bias (hint: "
        "model.bias: false; model.query_key_value_bias gives one to queries, keys and values)");
  CHECK(message({{"model.norm_kind", "rms_norm"}, {no_bias, "false"}}) == "no error");
  CHECK(has(message({{"model.embedding_norm", "true"}}), "where the embedding always has one"));
  CHECK(has(message({{"model.first_norm", "false"}}), "the first layer has none before it"));
  CHECK(message({{"model.embedding_norm", "true"}, {"model.norm", "pre"}}) == "no error");
  CHECK(message({{"model.first_norm", "false"}, {"model.norm", "pre"}}) == "no error");
  CHECK(has(message({{"model.parallel_residual", "true"}}), "model.norm: pre"));
  CHECK(message({{"model.parallel_residual", "true"}, {"model.norm", "pre"}}) == "no error");
  CHECK(has(message({{"model.head", "linear"}, {"model.embedding_width", "64"}}),
            "has 64 features and the model 256"));
  CHECK(message({{"model.head", "linear"},
                 {"model.embedding_width", "64"},
                 {"model.tie_output", "false"}}) == "no error");
  CHECK(message({{"model.heads", "3"}, {"model.head_width", "32"}}) == "no error");
  CHECK(has(message({{"model.head_width", "31"}}), "rotates pairs of features"));
  CHECK(has(message({{"task", "translation"}, {"model.key_value_heads", "2"}}),
            "the task translation does not use it"));
  CHECK(has(message({{"task", "translation"}, {"model.head", "linear"}}), "does not use it"));
}

TEST_CASE("a warm-up in minutes beside steps is refused before anything is written") {
  const auto with = [](const char* warmup, const char* steps) {
    return message({{"training.warmup", warmup}, {"training.steps", steps}});
  };
  CHECK(with("1min", "500") ==
        "--training.warmup: 1min cannot be compared with training.steps 500 (hint: give both in "
        "minutes, or neither)");
  CHECK(has(with("100", "90min"), "100 cannot be compared with training.steps 90min"));
  CHECK(with("1min", "90min") == "no error");
  CHECK(with("1e", "20Mt") == "no error");
  CHECK(message({{"training.steps", "90min"}}) == "no error");
}

TEST_CASE("a key that the task does not use is refused, its default is not") {
  CHECK(message({{"training.batch_tokens", "4096"}}) ==
        "--training.batch_tokens: got 4096, but the task mlm does not use it (hint: it is for "
        "glue, classification, tagging, embedding, translation, matching)");
  CHECK(message({{"training.batch_tokens", "4096"}, {"task", "glue"}}) == "no error");
  CHECK(message({{"training.batch_tokens", "0"}}) == "no error");
  CHECK(has(message({{"tokenizer.kind", "bytes"}, {"task", "causal_lm"}}),
            "--tokenizer.kind: got bytes, but the task causal_lm does not use it (hint: the data "
            "set's tokenizer is taken"));
  CHECK(has(message({{"data.masking.probability", "0.2"}, {"task", "causal_lm"}}),
            "(hint: it is for mlm)"));
  CHECK(has(message({{"glue.task", "rte"}}), "the task mlm does not use it"));
  // Nothing can be said of a task that is none.
  CHECK(!has(message({{"glue.task", "rte"}, {"task", "gleu"}}), "does not use"));
}

TEST_CASE("the factors of xpos must stay within float's range") {
  const auto with = [](const char* scale_base, const char* length) {
    return message({{"task", "causal_lm"},
                    {"position", "xpos"},
                    {"position.scale_base", scale_base},
                    {"data.length", length}});
  };
  CHECK(with("512", "2048") == "no error");
  CHECK(with("1", "63") == "no error");
  CHECK(with("1", "512") ==
        "--position.scale_base: the factors of scale_base 1 leave float's range from 64 "
        "tokens on, and data.length is 512 (hint: position.xpos.scale_base: 512)");
}

TEST_CASE("a scheme is asked only for what it can do") {
  CHECK(has(message({{"attention.kernel", "elu"}, {"position.rope.value", "true"}}),
            "does not rotate them"));
  CHECK(message({{"position", "xpos"}}) ==
        "--position: xpos looks only to the left and cannot serve the task mlm, whose encoder "
        "looks to both sides (hint: it works with task: causal_lm)");
  CHECK(message({{"position", "cope"}, {"task", "glue"}}) != "no error");
  CHECK(message({{"position", "cope"}, {"task", "causal_lm"}}) == "no error");
  CHECK(has(message({{"position", "alibi"}, {"position.variant", "causal"}}),
            "causal is for a model that looks to the left"));
  CHECK(message({{"position", "alibi"}, {"position.variant", "causal"}, {"task", "causal_lm"}}) ==
        "no error");
  CHECK(has(message({{"attention.kernel", "elu"}, {"position", "t5"}}),
            "linear attention (elu) has no scores that t5 could change"));
  CHECK(message({{"attention.kernel", "favor"}}) == "no error");
  CHECK(has(message({{"attention.kernel", "favor"}, {"attention.features", "31"}}),
            "got 31, but rope rotates pairs of features"));
  CHECK(has(message({{"attention.kernel", "elu"}, {"attention.window", "8"}}), "has no window"));
  CHECK(has(message({{"position", "t5"}, {"position.buckets", "30"}}), "a multiple of 4"));
}

TEST_CASE("a translator's decoder is asked about its own scheme") {
  const auto with = [](std::vector<Override> flags) {
    flags.push_back({"task", "translation"});
    return message(flags);
  };
  CHECK(with({}) == "no error");
  CHECK(has(with({{"position", "cope"}}), "cope looks only to the left and cannot serve the task"));
  CHECK(with({{"position.decoder", "cope"}}) == "no error");
  CHECK(with({{"position.decoder", "alibi"}, {"position.alibi.variant", "causal"}}) == "no error");
  CHECK(has(with({{"position", "alibi"}, {"position.alibi.variant", "causal"}}),
            "symmetric or asymmetric"));
  CHECK(with({{"position.decoder", "learned"}, {"position.learned.length", "100"}}) ==
        "--position.decoder: got 128, but learned has a table of 100 positions (hint: "
        "--position.learned.length 128)");
  CHECK(has(message({{"position.decoder", "rope"}}), "the task mlm does not use it"));
}

TEST_CASE("a contradiction with a value that was refused is not reported twice") {
  CHECK(message({{"model.heads", "x"}, {"model.width", "250"}}) ==
        "--model.heads: got \"x\", wanted an integer from 1 to 1024");
}

TEST_CASE("features of linear attention follow Performer's D ln D") {
  AttentionSettings attention{.kernel = AttentionKernel::favor};
  CHECK(linear_feature_count(attention, 64) == 266);  // 64 ln 64 = 266.2
  attention.features = 30;
  CHECK(linear_feature_count(attention, 64) == 30);
  attention.kernel = AttentionKernel::elu;
  CHECK(linear_feature_count(attention, 64) == 64);
}

TEST_CASE("classes have different names") {
  CHECK(has(message({{"task", "classification"}, {"classification.classes", "[a, b, a]"}}),
            "--classification.classes: names \"a\" twice"));
  CHECK(has(message({{"task", "tagging"}, {"tagging.classes", "[O, X, O]"}}), "\"O\" twice"));
}

TEST_CASE("a classifier is ranked by a figure that its kind has") {
  const std::string wrong =
      message({{"task", "classification"}, {"classification.metric", "spearman"}});
  CHECK(wrong ==
        "--classification.metric: got spearman, which classification.kind single does not have "
        "(hint: one of auto, loss, accuracy, macro_f1, micro_f1, matthews, auc)");
  CHECK(message({{"task", "classification"},
                 {"classification.kind", "regression"},
                 {"classification.metric", "spearman"}}) == "no error");
}
