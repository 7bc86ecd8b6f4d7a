#include "experiments/declaration/study_settings.h"

#include <fmt/format.h>

#include <set>

#include "catch.h"
#include "config/assignment.h"
#include "config/check.h"
#include "config/config_helpers.h"
#include "config/schemes/formula.h"
#include "config/schemes/rope.h"
#include "has.h"
#include "said.h"

using namespace roformer;

namespace {

std::vector<std::string> names(const StudySettings& study) {
  std::vector<std::string> result;
  for (const StudyRun& run : study.runs) result.push_back(run.name);
  return result;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a matrix gives a run for every combination, the last axis running fastest") {
  ConfigFolder folder;
  folder.write("base.yaml", "model: {layers: 2}\n");
  const auto file =
      folder.write("s.yaml",
                   "extends: base.yaml\n"
                   "runs: out\n"
                   "study:\n"
                   "  name: tiny\n"
                   "  metric: masked_accuracy\n"
                   "  columns: [parameters]\n"
                   "  paper:\n"
                   "    - {row: rope, metric: masked_accuracy, value: 65.0, source: table 5}\n"
                   "matrix:\n"
                   "  position: [rope, none]\n"
                   "  seed: [1, 2]\n"
                   "  training.learning_rate: [1e-3]\n");
  CHECK(is_study(file));
  const StudySettings study = load_study(file);
  CHECK(study.name == "tiny");
  CHECK(study.metric == "masked_accuracy");
  CHECK(study.columns == Names{"parameters"});
  REQUIRE(study.paper.size() == 1);
  CHECK(study.paper[0].value == 65.0);
  CHECK(study.paper[0].source == "table 5");
  CHECK(names(study) == Names{"rope-seed1-learning_rate1e-3", "rope-seed2-learning_rate1e-3",
                              "none-seed1-learning_rate1e-3", "none-seed2-learning_rate1e-3"});
  const StudyRun& last = study.runs[3];
  CHECK(last.values == Names{"none", "2", "1e-3"});
  CHECK(last.settings.seed == 2);
  CHECK(last.settings.position.scheme == "none");
  CHECK(last.settings.model.layers == 2);
  CHECK(last.settings.run == last.name);
  CHECK(last.settings.runs == folder.path / "out" / "tiny");
}

TEST_CASE("flags with several values replace an axis or add one, others hold for all runs") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml", "matrix: {position: [rope, none]}\n");
  CHECK(names(load_study(file, {{"position.scheme", "learned"}})) == Names{"learned"});
  CHECK(names(load_study(file, {{"position", "t5,alibi"}, {"seed", "3,4"}})) ==
        Names{"t5-seed3", "t5-seed4", "alibi-seed3", "alibi-seed4"});
  const StudySettings steps = load_study(file, {{"training.steps", "5"}, {"run", "mine"}});
  CHECK(names(steps) == Names{"rope", "none"});
  CHECK(steps.runs[1].settings.training.steps.amount == 5);
  CHECK(steps.name == "mine");
}

TEST_CASE("variants are an axis of named sets of keys") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "variants:\n"
                                 "  - name: plain\n"
                                 "  - name: yarn 4x\n"
                                 "    position: {rope: {scaling: yarn, factor: 4}}\n"
                                 "  - {name: slow, position.base: 5e5}\n");
  const StudySettings study = load_study(file, {{"seed", "1,2"}});
  CHECK(names(study) == Names{"plain-seed1", "plain-seed2", "yarn_4x-seed1", "yarn_4x-seed2",
                              "slow-seed1", "slow-seed2"});
  CHECK(study.axes[0].key == "variant");
  CHECK(study.runs[2].settings.position.of<RopeSettings>().factor == 4);
  CHECK(study.runs[4].settings.position.of<RopeSettings>().base == 500000);
}

TEST_CASE("a value of an axis may come with further keys, by whom it is named") {
  ConfigFolder folder;
  const std::string text =
      "matrix:\n"
      "  model.norm: [pre, {post: {training.steps: 7, training: {warmup: 3}}}]\n";
  const auto file = folder.write("s.yaml", text);
  const StudySettings study = load_study(file);
  REQUIRE(names(study) == Names{"normpre", "normpost"});
  CHECK(study.runs[0].settings.training.steps.amount != 7);
  CHECK(study.runs[1].settings.training.steps.amount == 7);
  const StudySettings one = load_study(file, {{"model.norm", "post"}});
  REQUIRE(names(one) == Names{"normpost"});
  CHECK(one.runs[0].settings.training.warmup.amount == 3);

  const auto refused = [&](const std::string& values, const std::vector<Override>& flags = {}) {
    const auto other = folder.write("t.yaml", "matrix: {model.norm: [" + values + "]}\n");
    return folder.local(refusal([&] { load_study(other, flags); }));
  };
  CHECK(refused("pre, {post: {training.steps: 7}}", {{"training.steps", "5"}})
            .find("training.steps: set twice") != std::string::npos);
  CHECK(refused("pre, {post: {model.norm: pre}}") ==
        "t.yaml:1: model.norm: is the value itself, and set again beside it");
  CHECK(refused("pre, {post: 7}").find("wanted keys that come with the value") !=
        std::string::npos);
  CHECK(refused("pre, {post: {}, pre: {}}").find("wanted a single value, or {VALUE: {KEY: ...}}") !=
        std::string::npos);
  CHECK(refused("pre, {post: {training.stepz: 7}}").find("training.stepz: unknown key") !=
        std::string::npos);
}

TEST_CASE("a value of the axis of schemes says which scheme it is") {
  ConfigFolder folder;
  const auto load = [&](const std::string& values) {
    return load_study(folder.write("s.yaml", "matrix: {position: [" + values + "]}\n"));
  };
  const StudySettings study = load(
      "rope, {formula: {bias: '0.5*(j-i)'}}, {alibi: {variant: symmetric}}, {scheme: rope, base: "
      "5}");
  REQUIRE(study.runs.size() == 4);
  CHECK(study.runs[1].settings.position.scheme == "formula");
  CHECK(study.runs[1].values.front() == "formula {bias: 0.5*(j-i)}");
  CHECK(study.runs[2].settings.position.scheme == "alibi");
  CHECK(study.runs[3].settings.position.of<RopeSettings>().base == 5);
  CHECK(study.runs[3].values.front() == "rope {base: 5}");
  const auto refused = [&](const std::string& values) {
    return folder.local(refusal([&] { load(values); }));
  };
  CHECK(refused("rope, {base: 5}") ==
        "s.yaml:1: matrix.position: got {base: 5}, which chooses no scheme (hint: {scheme: NAME, "
        "...})");
  CHECK(refused("rope, {alibi: {variant: causal}, t5: {buckets: 16}}").find("no scheme") !=
        std::string::npos);
  CHECK(refused("rope, {scheme: rope, formula: '0.5*(j-i)'}").find("chooses the scheme formula") !=
        std::string::npos);
  CHECK(refused("rope, {formula: }") != "no error");
  // A value that none of its runs has would repeat another value's run under a new name.
  const auto variants = folder.write("v.yaml",
                                     "matrix: {position: [rope, t5]}\n"
                                     "variants: [{name: plain}, {name: b, position.alibi.variant: "
                                     "causal}, {name: c, position.t5.buckets: 16}]\n");
  CHECK(folder.local(refusal([&] { load_study(variants); })) ==
        "v.yaml:2: position.alibi.variant: is an option of alibi, and the positions are rope, t5 "
        "(hint: "
        "position: alibi beside it, or leave it out)");
  CHECK(names(load_study(variants, {{"position", "alibi"}})).size() == 3);
}

TEST_CASE("an inline formula is called by its name") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "matrix:\n"
                                 "  position:\n"
                                 "    - rope\n"
                                 "    - {formula: {name: ours, bias: '0.5*(j-i)'}}\n"
                                 "    - formula: {bias: '-abs(i-j)', name: rope}\n");
  const StudySettings study = load_study(file);
  REQUIRE(study.runs.size() == 3);
  CHECK(study.runs[1].values.front() == "ours");
  CHECK(study.runs[1].name == "ours");
  CHECK(study.runs[1].settings.position.of<FormulaSettings>().name == "ours");
  CHECK(study.runs[2].values.front() == "formula rope");
  CHECK(study.text == read_file(file));
  // A formula of a file is not left with the name of another.
  folder.write("f.yaml", "far: {bias: '-abs(i-j)'}\n");
  const auto other =
      folder.write("t.yaml", "position: {formula: {name: ours, bias: '0.5*(j-i)'}}\n");
  const Settings far =
      load_settings(other, {{"position.formula", (folder.path / "f.yaml").string() + "#far"}});
  CHECK(far.position.of<FormulaSettings>().name.empty());
}

TEST_CASE("of formulas with one name a flag means its own") {
  ConfigFolder folder;
  folder.write("a.yaml", "rope: {bias: '0.1*(j-i)'}\n");
  folder.write("b.yaml", "rope: {bias: '0.2*(j-i)'}\n");
  const auto file = folder.write("s.yaml", "matrix: {position: [t5, {formula: 'a.yaml#rope'}]}\n");
  CHECK(load_study(file, {{"position", "rope"}}).runs[0].settings.position.scheme == "rope");
  const std::string other = (folder.path / "b.yaml").string() + "#rope";
  const StudySettings study = load_study(file, {{"position.formula", other}});
  CHECK(study.runs[0].settings.position.of<FormulaSettings>().bias == "0.2*(j-i)");
}

TEST_CASE("a formula with a scheme's name is a separate row beside it") {
  ConfigFolder folder;
  folder.write("a.yaml", "kerple: {bias: '0.1*(j-i)'}\nnear: {bias: 'j-i'}\n");
  const auto file =
      folder.write("s.yaml", "matrix: {position: [kerple, {formula: 'a.yaml#kerple'}]}\n");
  const StudySettings study = load_study(file);
  CHECK(study.runs[0].values == Names{"kerple"});
  CHECK(study.runs[1].values == Names{"a.yaml#kerple"});
  CHECK(study.runs[0].name != study.runs[1].name);
  const auto protocol = folder.write("p.yaml",
                                     "study: {version: 1, metric: validation_loss}\n"
                                     "matrix: {position: [rope, kerple], seed: [1]}\n");
  const std::string formula = (folder.path / "a.yaml").string() + "#kerple";
  CHECK(load_study(protocol, {{"position.formula", formula}}).runs.size() == 3);
}

TEST_CASE("flags of one axis name its values together") {
  ConfigFolder folder;
  folder.write("a.yaml", "near: {bias: 'j-i'}\n");
  const std::string near = (folder.path / "a.yaml").string() + "#near";
  for (const char* matrix : {"{position: [t5]}", "{training.steps: [5]}"}) {
    const auto file = folder.write("s.yaml", "matrix: " + std::string(matrix) + "\n");
    const StudySettings study =
        load_study(file, {{"position", "rope,alibi"}, {"position.formula", near}});
    std::set<std::string> schemes;
    for (const StudyRun& run : study.runs) schemes.insert(run.settings.position.scheme);
    CHECK(schemes == std::set<std::string>{"rope", "alibi", "formula"});
  }
  // Whatever their order; of one flag that is repeated the last one counts.
  const auto none = folder.write("n.yaml", "matrix: {training.steps: [5]}\n");
  CHECK(load_study(none, {{"position.formula", near}, {"position", "rope,alibi"}}).runs.size() ==
        3);
  CHECK(load_study(none, {{"seed", "1,2"}, {"seed", "2"}}).runs.size() == 1);
  // A formula that the file has is known by its name there.
  const auto file = folder.write("s.yaml", "matrix: {position: [t5, {formula: 'a.yaml#near'}]}\n");
  CHECK(load_study(file, {{"position", "near"}}).runs.at(0).settings.position.scheme == "formula");
}

TEST_CASE("the name of a run is one of a folder, whatever its values are") {
  ConfigFolder folder;
  const std::string sum = "0.1*(j-i)+0.2*(j-i)+0.3*(j-i)+0.4*(j-i)+0.5*(j-i)+0.6*(j-i)+0.7*(j-i)";
  const StudySettings study =
      load_study(folder.write("s.yaml",
                              "matrix: {position: [{formula: '-0.1*max(i-j,1)'}, "
                              "{formula: '(j-i)*1'}, {formula: '(j-i)/1'}, {formula: '" +
                                  sum + "'}, {formula: '" + sum + "+0.8*(j-i)'}]}\n"));
  const Names made = names(study);
  REQUIRE(made.size() == 5);
  CHECK(made[0].starts_with("_-0.1_max_i-j_1_-"));
  CHECK(made[1] != made[2]);
  CHECK(made[3].substr(0, 50) == made[4].substr(0, 50));
  CHECK(made[3] != made[4]);
  // Whatever stands beside it.
  const auto alone = load_study(folder.write("a.yaml", "matrix: {position: [rope, t5]}\n"),
                                {{"position.formula", "(j-i)*1"}});
  CHECK(names(alone) == Names{made[1]});
  for (const std::string& name : made) {
    CHECK(name.size() <= 60);
    CHECK(is_folder_name(name));
  }
}

TEST_CASE("a key belongs to one axis of a study, and to no flag beside it") {
  ConfigFolder folder;
  const auto refused = [&](const std::string& text, const std::vector<Override>& flags = {}) {
    const auto file = folder.write("s.yaml", text);
    return folder.local(refusal([&] { load_study(file, flags); }));
  };
  const std::string hint =
      " (hint: a key belongs to one axis of a study, and to no flag beside it)";
  CHECK(refused("matrix: {position: [rope, t5]}\n"
                "variants:\n"
                "  - {name: plain}\n"
                "  - {name: fast, position: rope}\n") ==
        "s.yaml:4: position: set twice, also by s.yaml:1" + hint);
  CHECK(refused("matrix: {position.scheme: [rope, t5]}\n"
                "variants: [{name: a, position: t5}]\n") ==
        "s.yaml:2: position: set twice, also by s.yaml:1" + hint);
  CHECK(refused("matrix: {position.base: [5, 6]}\n"
                "variants: [{name: a, position.rope.base: 7}]\n") ==
        "s.yaml:2: position.rope.base: set twice, also by s.yaml:1" + hint);
  const std::string variants = "variants: [{name: a, training.steps: 7}, {name: b}]\n";
  CHECK(refused(variants, {{"training.steps", "5"}}) ==
        "s.yaml:1: training.steps: set twice, also by --training.steps" + hint);
  CHECK(refused(variants, {{"position", "rope,t5"}}) == "no error");
  CHECK(refused("matrix: {position.base: [5, 6]}\n"
                "variants: [{name: a, position.rope.factor: 1}]\n") == "no error");
}

TEST_CASE("a value that is written in two ways is there twice") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "study: {name: s}\n"
                                 "matrix: {training.learning_rate: [0.001, 2e-3, 1e-3]}\n");
  CHECK(has(folder.local(refusal([&] { load_study(file); })),
            "training.learning_rate: \"1e-3\" is there twice, also as \"0.001\""));
}

TEST_CASE("all that is wrong with a study comes at once") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "study: {metrik: loss, paper: [{row: a, metric: b}]}\n"  // 1
                                 "matrix:\n"                                              // 2
                                 "  positon: [rope]\n"                                    // 3
                                 "  seed: 5\n"                                            // 4
                                 "  run: [a]\n"                                           // 5
                                 "  model.heads: [4, 3, 4]\n"                             // 6
                                 "  data.length: []\n"                                    // 7
                                 "variants: [{training.steps: 5}]\n");                    // 8
  const std::string message = folder.local(refusal([&] { load_study(file); }));
  CHECK(message ==
        "s.yaml:1: study.metrik: unknown key (hint: did you mean metric)\n"
        "s.yaml:1: study.paper.value: is missing\n"
        "s.yaml:3: matrix.positon: unknown key (hint: did you mean position)\n"
        "s.yaml:4: matrix.seed: got \"5\", wanted a list of values (hint: [5])\n"
        "s.yaml:5: matrix.run: a study names its runs itself\n"
        "s.yaml:7: matrix.data.length: got an empty list, wanted a list of values\n"
        "s.yaml:8: variants: a variant without a name\n"
        "s.yaml:6: model.heads: \"4\" is there twice\n"
        "s.yaml:1: study.paper.metric: no run of this study has a figure \"b\" (hint: they have "
        "loss_at_25, loss_at_50, loss_at_75, masked_accuracy, milliseconds_per_step, minutes, "
        "parameters, "
        "peak_memory, perplexity, steps, tokens, tokens_per_second, validation_loss, "
        "validation_loss_standard_error)\n"
        "s.yaml:6: model.heads: 256 features cannot be divided among 3 heads (hint: 255 or 258 "
        "can)");
}

TEST_CASE("a metric that no run of the study has is refused before anything is trained") {
  ConfigFolder folder;
  const auto file =
      folder.write("s.yaml",
                   "study:\n"                                                       // 1
                   "  metric: validation_los\n"                                     // 2
                   "  columns: [steps, perplexity_median, masked_accuracy, zzz]\n"  // 3
                   "  paper: [{row: rope, metric: bleu, value: 1}]\n"               // 4
                   "matrix: {task: [causal_lm, glue]}\n");
  const std::string message = folder.local(refusal([&] { load_study(file); }));
  CHECK(
      message.starts_with("s.yaml:2: study.metric: no run of this study has a figure "
                          "\"validation_los\" (hint: did you mean validation_loss)\n"
                          "s.yaml:3: study.columns: no run of this study has a figure "
                          "\"masked_accuracy\""));
  CHECK(has(message,
            "s.yaml:3: study.columns: no run of this study has a figure \"zzz\" (hint: "
            "they have accuracy, bits_per_byte, "));
  CHECK(!has(message, "perplexity_median"));
  CHECK(has(message, "s.yaml:4: study.paper.metric: no run of this study has a figure \"bleu\""));
  const auto good = folder.write("s.yaml",
                                 "study: {metric: accuracy_mismatched, columns: [score_median]}\n"
                                 "task: glue\n"
                                 "matrix: {glue.task: [rte, mnli]}\n");
  CHECK(load_study(good).metric == "accuracy_mismatched");
}

TEST_CASE("a model that many combinations start from is asked once") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "matrix: {seed: [1, 2, 3], model.from: [a, b], "
                                 "training.learning_rate: [1e-3, 1e-4]}\n");
  std::vector<std::string> asked;
  const StudySettings study =
      load_study(file, {}, [&](const std::filesystem::path& from) -> std::vector<Override> {
        asked.push_back(from.filename().string());
        return {{"model.layers", from.filename() == "a" ? "2" : "3"}};
      });
  CHECK(asked == Names{"a", "b"});
  REQUIRE(study.runs.size() == 12);
  CHECK(study.runs[1].settings.model.layers == 2);
  CHECK(study.runs[11].settings.model.layers == 3);
}

TEST_CASE("a combination that contradicts itself is a run that says why") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "matrix:\n"
                                 "  position: [rope, cope, none]\n"
                                 "  position.base: [100]\n");
  const StudySettings study = load_study(file);
  REQUIRE(study.runs.size() == 3);
  CHECK(study.runs[0].refusals.empty());
  REQUIRE(study.runs[1].refusals.lines().size() == 2);  // no such option, and it looks to the left
  REQUIRE(study.runs[2].refusals.lines().size() == 1);
  CHECK(folder.local(study.runs[2].refusals.lines()[0]).starts_with("s.yaml:3: position.base: "));
  // A value that is wrong in itself is no combination, and without any good run there is no study.
  CHECK(has(refusal([&] { load_study(file, {{"seed", "1,x"}}); }), "--seed"));
  CHECK(has(refusal([&] { load_study(file, {{"position", "cope,none"}}); }), "has no such option"));
}

TEST_CASE("a key that says nothing in a combination is no second run of the same") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "matrix: {attention.kernel: [elu, favor], "
                                 "attention.features: [32, 64]}\n"
                                 "task: causal_lm\n");
  const StudySettings study = load_study(file);
  REQUIRE(study.runs.size() == 4);
  CHECK(study.runs[0].refusals.empty());
  CHECK(has(study.runs[1].refusals.lines().front(), "is for FAVOR+'s random features"));
  CHECK(study.runs[2].refusals.empty());
  CHECK(study.runs[3].refusals.empty());
  const auto one = folder.write("t.yaml",
                                "matrix: {attention.kernel: [elu, favor], "
                                "attention.features: [32]}\n"
                                "task: causal_lm\n");
  for (const StudyRun& run : load_study(one).runs) CHECK(run.refusals.empty());
}

TEST_CASE("a matrix that nobody can run is refused") {
  ConfigFolder folder;
  std::string list = "0";
  for (int value = 1; value < 200; ++value) list += "," + std::to_string(value);
  const auto file =
      folder.write("s.yaml", "matrix: {seed: [" + list + "], threads: [" + list + "]}\n");
  CHECK(has(refusal([&] { load_study(file); }), "more than 10000 combinations"));
}

TEST_CASE("what a study evaluates is read and checked with the rest") {
  ConfigFolder folder;
  const auto good = folder.write("s.yaml",
                                 "matrix: {position: [rope, none]}\n"
                                 "study: {trainings: other}\n"
                                 "evaluate:\n"
                                 "  lengths: [128, 256]\n"
                                 "  variants:\n"
                                 "    - {name: ntk, scheme: rope, position.rope.scaling: ntk,\n"
                                 "       stretch: position.rope.factor}\n");
  const StudySettings study = load_study(good);
  CHECK(study.evaluations.lengths == std::vector<std::int64_t>{128, 256});
  REQUIRE(study.evaluations.variants.size() == 1);
  CHECK(study.evaluations.variants[0].scheme == "rope");
  CHECK(study.evaluations.variants[0].stretch == "position.rope.factor");
  CHECK(study.evaluations.variants[0].overrides[0].text == "ntk");
  CHECK(study.folder.filename() == "s");
  CHECK(study.runs[0].settings.runs.filename() == "other");

  const auto bad = folder.write("s.yaml",
                                "evaluate:\n"                           // 1
                                "  length: [128]\n"                     // 2
                                "  lengths: [128, x, 1]\n"              // 3
                                "  variants:\n"                         // 4
                                "    - {name: a, model.layers: 3}\n"    // 5
                                "    - {name: a, scheme: rop}\n"        // 6
                                "    - {position.scaling: linear}\n");  // 7
  const std::string message = folder.local(refusal([&] { load_study(bad); }));
  CHECK(message ==
        "s.yaml:2: evaluate.length: unknown key (hint: did you mean lengths)\n"
        "s.yaml:3: evaluate.lengths: got \"x\", wanted an integer from 2 to 1048576\n"
        "s.yaml:3: evaluate.lengths: got \"1\", wanted an integer from 2 to 1048576\n"
        "s.yaml:5: model.layers: belongs to the training and cannot be changed for a trained model "
        "(hint: position.* and attention.* can)\n"
        "s.yaml:6: evaluate.variants: \"a\" is there twice\n"
        "s.yaml:6: evaluate.variants.scheme: no scheme is called rop (hint: did you mean rope)\n"
        "s.yaml:7: evaluate.variants: a variant without a name");
}

TEST_CASE("the folders of a study and of its runs lie in runs") {
  ConfigFolder folder;
  const auto problem_of = [&](const std::string& text) {
    return refusal([&] { load_study(folder.write("s.yaml", text)); });
  };
  for (const char* key : {"name", "trainings"}) {
    CHECK(has(problem_of(fmt::format("study: {{{}: ../x}}\nmatrix: {{seed: [1]}}\n", key)),
              fmt::format("study.{}: got \"../x\", wanted the name of one folder", key)));
  }
  const auto file = folder.write("s.yaml", "variants: [{name: ..}, {name: a/b}]\n");
  CHECK(names(load_study(file)) == Names{"run..", "a_b"});
}

TEST_CASE("no two runs of a study share a folder") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml",
                                 "variants: [{name: b-c}, {name: c}]\n"
                                 "matrix: {data.directory: [x, x-b]}\n");
  CHECK(has(refusal([&] { load_study(file); }), "two of the runs are called"));
}

TEST_CASE("a matrix of more combinations than can be counted is refused at once") {
  ConfigFolder folder;
  std::string matrix = "matrix:\n";
  std::string values = "tune:\n  values:\n";
  std::size_t keys = 0;
  for (const std::string& key : assignable_keys()) {
    if (key.starts_with("position") || key == "run" || key == "runs" || ++keys > 64) continue;
    matrix += "  " + key + ": [1, 2]\n";
    values += "    " + key + ": [1, 2]\n";
  }
  REQUIRE(keys > 64);  // 2^64 combinations are 0 in 64 bits
  const auto reference = folder.write("a.yaml", "study: {reference: x}\n" + matrix);
  CHECK(has(refusal([&] { load_study(reference); }), "more than 10000 combinations"));
  const auto tuning = folder.write("b.yaml", "matrix: {position: [rope]}\n" + values);
  CHECK(has(refusal([&] { load_study(tuning); }), "more than 10000 trainings"));
}

TEST_CASE("a study's axis of positions takes formulas and mixtures beside names") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path / "own.yaml", "near: {bias: j - i}\n");
  const auto file = folder.path / "study.yaml";
  write_file_atomically(file,
                        "study: {name: x}\nmatrix:\n  position:\n    - rope\n"
                        "    - {formula: own.yaml#near}\n    - {layers: {0: none, others: rope}}\n"
                        "    - {formula: {bias: \"-0.1 * abs(i - j)\"}}\n");
  const StudySettings study = load_study(file);
  REQUIRE(study.runs.size() == 4);
  CHECK(study.runs[0].name == "rope");
  CHECK(study.runs[1].name == "near");
  CHECK(study.runs[1].settings.position.scheme == "formula");
  CHECK(study.runs[1].settings.position.of<FormulaSettings>().bias == "j - i");
  CHECK(study.runs[2].settings.position.scheme == "layers");
  CHECK(study.runs[3].settings.position.of<FormulaSettings>().bias == "-0.1 * abs(i - j)");
}

TEST_CASE("a study says once that its runs' warm-up is shorter") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml",
                                 "training: {steps: 5000, warmup: 400}\n"
                                 "matrix: {seed: [1, 2, 3]}\n");
  StudySettings study;
  const std::string notice = said([&] { study = load_study(file, {{"training.steps", "20"}}); });
  CHECK(has(notice, "training.warmup is 2, a tenth"));
  CHECK(notice.find("training.warmup is") == notice.rfind("training.warmup is"));
  for (const StudyRun& run : study.runs) CHECK(run.settings.training.warmup.amount == 2);
}
