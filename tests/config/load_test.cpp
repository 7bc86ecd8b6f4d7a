#include "config/load.h"
#include "config/schemes/rope.h"
#include "config/schemes/t5.h"
#include "config/schemes/tupe.h"

#include "catch.h"
#include "config_helpers.h"
#include "has.h"

using namespace roformer;

TEST_CASE("default, extends, file and flag have growing priority") {
  ConfigFolder folder;
  folder.write("base/base.yaml", "model:\n  layers: 2\n  heads: 2\ntraining.steps: 7\n");
  const auto file = folder.write(
      "run.yaml", "model: {heads: 8}\nextends: base/base.yaml\nposition: sinusoidal\n");
  const Settings settings = load_settings(file, {{"training.steps", "9"}, {"seed", "5"}});
  CHECK(settings.model.layers == 2);
  CHECK(settings.model.heads == 8);
  CHECK(settings.model.width == 256);
  CHECK(settings.training.steps == Period{9, Period::Unit::steps});
  CHECK(settings.position.scheme == "sinusoidal");
  CHECK(settings.seed == 5);
  CHECK(settings.run == "run");
  CHECK(load_settings(file, {{"run", "other"}}).run == "other");
}

TEST_CASE("a relative path starts at its file, or on the command line at the working directory") {
  ConfigFolder folder;
  folder.write("base/base.yaml", "data: {directory: ../corpus}\n");
  const auto file = folder.write("run.yaml", "extends: base/base.yaml\n");
  CHECK(load_settings(file).data.directory == folder.path / "corpus");
  CHECK(load_settings(file, {{"data.directory", "here/../x"}}).data.directory == "x");
}

TEST_CASE("an option without its scheme is the chosen scheme's, wherever the scheme is chosen") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", "position:\n  buckets: 64\n  scheme: t5\n");
  CHECK(load_settings(file).position.of<T5Settings>().buckets == 64);
  CHECK(load_settings(file, {{"position", "tupe"}}).position.of<TupeSettings>().buckets == 64);
  const std::string message = folder.local(refusal([&] {
    load_settings(file, {{"position", "rope"}});
  }));
  CHECK(
      has(message, "a.yaml:2: position.buckets: position rope has no such option, it has layout"));
  CHECK(has(message, "(hint: an option of t5, tupe, deberta)"));
  CHECK(has(refusal([] {
              default_settings({{"position", "rope"}, {"position.bse", "5"}});
            }),
            "unknown key (hint: did you mean position.base)") == false);
  CHECK(has(refusal([] {
              default_settings({{"position", "rope"}, {"position.bse", "5"}});
            }),
            "(hint: did you mean base)"));
}

TEST_CASE("one key in two spellings is given twice, unless one of them overrides the other") {
  ConfigFolder folder;
  const auto refused = [&](const std::string& text, const std::vector<Override>& flags = {}) {
    const auto file = folder.write("a.yaml", text);
    return folder.local(refusal([&] { load_settings(file, flags); }));
  };
  CHECK(refused("position: {rope: {base: 100}, base: 200}\n") ==
        "a.yaml:1: position.base: given twice, first at a.yaml:1 as position.rope.base");
  CHECK(refused("position: rope\nposition.scheme: t5\n") ==
        "a.yaml:2: position.scheme: given twice, first at a.yaml:1 as position");
  // The other scheme's option, a file that is extended, a flag.
  const std::string two = "position: {scheme: t5, buckets: 64, tupe: {buckets: 16}}\n";
  CHECK(refused(two) == "no error");
  CHECK(has(refused(two, {{"position", "tupe"}}), "given twice"));
  folder.write("base.yaml", "position: {rope: {base: 100}}\n");
  const auto file = folder.write("a.yaml", "extends: base.yaml\nposition.base: 200\n");
  CHECK(load_settings(file).position.of<RopeSettings>().base == 200);
  CHECK(load_settings(file, {{"position.rope.base", "300"}}).position.of<RopeSettings>().base ==
        300);
}

TEST_CASE("what model.from brings along stands below the file and the flags") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", "model: {from: runs/x, dropout: 0.3}\n");
  std::filesystem::path asked;
  const SourceKeys source = [&](const std::filesystem::path& from) -> std::vector<Override> {
    asked = from;
    return {{"model.layers", "7"},
            {"model.dropout", "0"},
            {"position.scheme", "t5"},
            {"position.t5.buckets", "64"}};
  };
  const Settings settings = load_settings(file, {}, source);
  CHECK(asked == folder.path / "runs/x");
  CHECK(settings.model.layers == 7);
  CHECK(settings.model.dropout == 0.3);
  CHECK(settings.position.of<T5Settings>().buckets == 64);
  CHECK(load_settings(file, {{"model.layers", "3"}, {"position", "rope"}}, source).model.layers ==
        3);
  CHECK(load_settings(file, {{"model.from", "y"}}, source).model.from == "y");
  CHECK(asked == "y");
  CHECK(load_settings(file).model.layers == 4);  // as a run stored it
  // What contradicts the source is said with its location.
  CHECK(has(refusal([&] {
              load_settings(file, {{"model.freeze_layers", "8"}}, source);
            }),
            "but the model has 7 layers"));
}

TEST_CASE("what model.from brings for another task is dropped") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", "model: {from: runs/x}\n");
  const SourceKeys source = [](const std::filesystem::path&) -> std::vector<Override> {
    return {{"glue.head", "roformer"}, {"model.layers", "7"}};
  };
  const Settings pretraining = load_settings(file, {}, source);
  CHECK(pretraining.glue.head == ClassifierHead::bert);
  CHECK(pretraining.model.layers == 7);
  CHECK(load_settings(file, {{"task", "glue"}}, source).glue.head == ClassifierHead::roformer);
}

TEST_CASE("values alone are read without a look at what they come to") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml",
                                 "model: {from: /gone, heads: 3}\n"  // 256 / 3
                                 "position: {scheme: t5, buckets: 64}\n"
                                 "training: {steps: 5, batch: 2}\n");
  const GivenValues given = load_values(file, {{"training.steps", "9"}, {"seed", "5"}});
  CHECK(given.settings.run == "a");
  CHECK(given.settings.training.steps == Period{9, Period::Unit::steps});
  CHECK(given.settings.position.of<T5Settings>().buckets == 64);
  CHECK(given.keys == std::set<std::string>{"model.from", "model.heads", "position.scheme",
                                            "position.t5.buckets", "training.batch"});
  const auto bad = folder.write("bad.yaml", "model: {heads: x}\n");
  CHECK(has(refusal([&] { load_values(bad); }), "got \"x\""));
}

TEST_CASE(
    "all problems come at once, each with its location, the value, what is allowed and a hint") {
  ConfigFolder folder;
  const auto file = folder.write("bad.yaml",
                                 "task: mlmm\n"                // 1
                                 "modle:\n"                    // 2
                                 "  layers: 3\n"               // 3
                                 "model:\n"                    // 4
                                 "  layers: many\n"            // 5
                                 "  norm:\n"                   // 6
                                 "  dropout: [0, 0.1]\n"       // 7
                                 "  dropuot: 0.1\n"            // 8
                                 "  freeze_embeddings: yes\n"  // 9
                                 "training:\n"                 // 10
                                 "  steps: 5\n"                // 11
                                 "  steps: 6\n"                // 12
                                 "training.batch: 2\n"         // 13
                                 "data: 5\n"                   // 14
                                 "seed: {a: 1}\n");            // 15
  const std::string message = folder.local(refusal([&] {
    load_settings(file, {{"model.heads", "0"}});
  }));
  CHECK(message ==
        "bad.yaml:2: modle: unknown section (hint: did you mean model)\n"
        "bad.yaml:7: model.dropout: got a list, wanted a single value (hint: a study lists values "
        "under `matrix:`)\n"
        "bad.yaml:12: steps: given twice, first at bad.yaml:11\n"
        "bad.yaml:14: data: got \"5\", wanted a section of keys\n"
        "bad.yaml:15: seed: got a section, wanted a single value\n"
        "bad.yaml:1: task: got \"mlmm\", wanted one of mlm, causal_lm, glue, classification, "
        "tagging, embedding, translation, "
        "matching, probe, masked_probe "
        "(hint: did you mean mlm)\n"
        "bad.yaml:5: model.layers: got \"many\", wanted an integer from 1 to 1000\n"
        "bad.yaml:6: model.norm: got nothing, wanted one of post, pre\n"
        "bad.yaml:8: model.dropuot: unknown key (hint: did you mean model.dropout)\n"
        "bad.yaml:9: model.freeze_embeddings: got \"yes\", wanted true or false (hint: did you "
        "mean true)\n"
        "--model.heads: got \"0\", wanted an integer from 1 to 1024");
}

TEST_CASE("a tab that indents a line is named") {
  ConfigFolder folder;
  const auto file = folder.write("tab.yaml", "training:\n  batch: 4\n\tsteps: 5\n");
  CHECK(folder.local(refusal([&] { load_values(file); })) ==
        "tab.yaml:3: is not valid YAML: a tab indents the line (hint: indent with spaces)");
}

TEST_CASE("a key that is written both nested and dotted is given twice") {
  ConfigFolder folder;
  const auto file = folder.write("a.yaml", "training: {steps: 5}\ntraining.steps: 6\n");
  CHECK(folder.local(refusal([&] { load_settings(file); })) ==
        "a.yaml:2: training.steps: given twice, first at a.yaml:1");
}

TEST_CASE("extends: a missing file, a circle and a list are refused where they stand") {
  ConfigFolder folder;
  const auto missing = folder.write("missing.yaml", "\nextends: gone.yaml\n");
  CHECK(folder.local(refusal([&] { load_settings(missing); })) ==
        "missing.yaml:2: extends: gone.yaml: no such file (hint: the path is relative to the file "
        "that says extends)");
  const auto left = folder.write("left.yaml", "extends: right.yaml\n");
  folder.write("right.yaml", "extends: left.yaml\n");
  CHECK(folder.local(refusal([&] { load_settings(left); })) ==
        "right.yaml:1: extends: left.yaml extends this file again, a circle");
  const auto list = folder.write("list.yaml", "extends: [a, b]\n");
  CHECK(has(refusal([&] { load_settings(list); }), "got a list, wanted the path of a file"));
}

TEST_CASE("files that are no configuration are refused in one line") {
  ConfigFolder folder;
  CHECK(folder.local(refusal([&] { load_settings(folder.path / "gone.yaml"); })) ==
        "gone.yaml: no such file (hint: a YAML file, for instance one of configs/)");
  CHECK(has(refusal([&] { load_settings(folder.path); }), "is not a configuration file"));
  const auto syntax = folder.write("syntax.yaml", "a: 1\nb: [1, 2\nc: 3\n");
  CHECK(has(folder.local(refusal([&] { load_settings(syntax); })), "syntax.yaml:3: is not valid"));
  const auto list = folder.write("list.yaml", "- a\n- b\n");
  CHECK(has(refusal([&] { load_settings(list); }), "got a list, wanted `key: value` lines"));
  const auto foreign = folder.write("foreign", "user:secret\n");
  const auto extending = folder.write("extending.yaml", "extends: foreign\n");
  const std::string said = refusal([&] { load_settings(extending); });
  CHECK(has(said, "got a text, wanted `key: value` lines"));
  CHECK(!has(said, "secret"));
  const auto alias = folder.write("alias.yaml", "model: &m\n  model: *m\n");
  CHECK(refusal([&] { load_settings(alias); }) != "no error");
  const auto deep = folder.write("deep.yaml", std::string(100'000, '['));
  CHECK(refusal([&] { load_settings(deep); }) != "no error");
  const auto binary = folder.write("binary.yaml", std::string("\x7f"
                                                              "ELF\0\0\1\2\xff\xfe",
                                                              10));
  CHECK(refusal([&] { load_settings(binary); }) != "no error");
  const auto empty = folder.write("empty.yaml", "# nothing but defaults\n");
  CHECK(load_settings(empty).run == "empty");
}

TEST_CASE("a study is not a single run") {
  ConfigFolder folder;
  const auto file = folder.write("s.yaml", "matrix:\n  seed: [1, 2]\n");
  CHECK(has(folder.local(refusal([&] { load_settings(file); })),
            "s.yaml:2: matrix: this file describes a study"));
}

TEST_CASE("a flag that is an option of another scheme says nothing, and is refused") {
  const auto refused = [](const std::vector<Override>& flags) {
    return refusal([&] { refuse_idle_flags(default_settings(flags), flags); });
  };
  CHECK(has(refused({{"position", "rope"}, {"position.t5.buckets", "8"}}),
            "--position.t5.buckets: is an option of t5, and the positions are rope"));
  CHECK(refused({{"position", "t5"}, {"position.buckets", "8"}}) == "no error");
  CHECK(has(
      refused({{"task", "translation"}, {"training.batch_tokens", "512"}, {"training.batch", "4"}}),
      "--training.batch: has no effect while training.batch_tokens"));
  CHECK(refused({{"training.batch", "4"}}) == "no error");
  CHECK(has(refused({{"task", "causal_lm"}, {"attention.features", "16"}}),
            "--attention.features: is for FAVOR+'s random features"));
  CHECK(refused(
            {{"task", "causal_lm"}, {"attention.kernel", "favor"}, {"attention.features", "16"}}) ==
        "no error");
  CHECK(refused({{"position.layers", "{0: none, 1-3: rope}"}, {"position.rope.base", "500"}}) ==
        "no error");
}
TEST_CASE("a formula chooses its scheme, and no second choice beside it is dropped") {
  ConfigFolder folder;
  const auto scheme_of = [&](const std::string& text) {
    return load_settings(folder.write("a.yaml", text)).position.scheme;
  };
  CHECK(scheme_of("position: {formula: {bias: '0.5*(j-i)'}}\n") == "formula");
  CHECK(scheme_of("position: {formula: '0.5*(j-i)'}\n") == "formula");
  CHECK(scheme_of("position: {formula: '0.5*(j-i)', layers: {0: formula, others: rope}}\n") ==
        "layers");
  CHECK(scheme_of("position: {scheme: rope, formula: {bias: '0.5*(j-i)'}}\n") == "rope");
  CHECK(scheme_of("position: {alibi: {variant: causal}}\n") == "rope");  // for who chooses it
  // What is a part already stays one.
  folder.write("base.yaml",
               "position: {layers: {0: formula, others: rope}, formula: {bias: '0.1*(j-i)'}}\n");
  CHECK(scheme_of("extends: base.yaml\nposition: {formula: {bias: '0.5*(j-i)'}}\n") == "layers");
  CHECK(scheme_of(
            "task: translation\nposition: {decoder: formula, formula: {bias: '0.5*(j-i)'}}\n") ==
        "rope");
  CHECK(
      folder.local(refusal([&] { scheme_of("position: {scheme: rope, layers: {0: none}}\n"); })) ==
      "a.yaml:1: position.layers: chooses the scheme layers, and a.yaml:1 says rope (hint: one of "
      "them)");
}

TEST_CASE("nothing of a file is dropped: no key inside a list, no second document") {
  ConfigFolder folder;
  const auto refused = [&](const std::string& text) {
    return folder.local(refusal([&] { load_settings(folder.write("a.yaml", text)); }));
  };
  for (const char* text :
       {"stages: [{steps: 10, steps: 20}]\n", "data.sources: [{directory: a, directory: b}]\n",
        "attention.layers: {0: {window: 3, window: 9}}\n",
        "position.layers: {0: {scheme: rope, base: 100, base: 200}, others: none}\n"}) {
    CAPTURE(text);
    CHECK(refused(text).find("is there twice") != std::string::npos);
  }
  CHECK(refused("seed: 5\n---\nseed: 7\n").find("a second document") != std::string::npos);
  CHECK(refused("---\nseed: 5\n") == "no error");
  CHECK(refused("seed: 5\n---\n# nothing\n") == "no error");
  for (const char* text :
       {"seed: 010\n", "training.batch: 010\n", "training.learning_rate: 010\n"}) {
    CAPTURE(text);
    CHECK(refused(text).find("hint: without the leading zero") != std::string::npos);
  }
  CHECK(has(refused("training.steps: 010\n"), "got \"010\", wanted a period"));
  CHECK(refused("training: {learning_rate: 0.01, steps: 0.5e}\n") == "no error");
}

TEST_CASE("aliases stand for what they name, and for no more than a file could write") {
  ConfigFolder folder;
  const auto refused = [&](const std::string& text) {
    return folder.local(refusal([&] { load_settings(folder.write("a.yaml", text)); }));
  };
  const auto swollen = [](const std::string& leaf) {
    std::string lists = "[&a0 [" + leaf + ", " + leaf + "]";
    for (int i = 0; i < 9; ++i) {
      lists += ", &a" + std::to_string(i + 1) + " [";
      for (int k = 0; k < 10; ++k) lists += (k > 0 ? ", *a" : "*a") + std::to_string(i);
      lists += "]";
    }
    return lists + "]\n";
  };
  for (const char* key : {"stages", "data.sources", "position", "training.steps", "matrix",
                          "attention.layers", "nobody"}) {
    CAPTURE(key);
    CHECK(has(refused(std::string(key) + ": " + swollen("x")), "aliases (*NAME) that expand to"));
  }
  // A text a million letters long, named a hundred times.
  const std::string text(1'000'000, 'x');
  CHECK(has(refused("stages: [&t " + text +
                    [] {
                      std::string names;
                      for (int i = 0; i < 100; ++i) names += ", *t";
                      return names;
                    }() +
                    "]\n"),
            "aliases (*NAME)"));
  CHECK(refused("stages: [&s {steps: 5}, *s]\n") == "no error");
  CHECK(default_settings({{"stages", "[&s {steps: 5}, *s]"}}).stages.size() == 2);
  CHECK(refusal([&] { default_settings({{"stages", swollen("x")}}); }) != "no error");
}

TEST_CASE("merge keys are named, with the way to write it here") {
  ConfigFolder folder;
  const auto refused = [&](const std::string& text) {
    return folder.local(refusal([&] { load_settings(folder.write("a.yaml", text)); }));
  };
  const std::string line =
      "<<: merge keys are not read here (hint: write the keys out; a "
      "configuration takes another file's by `extends: FILE`)";
  CHECK(refused("model: &m {layers: 2}\ntraining:\n  <<: *m\n  steps: 5\n") == "a.yaml:3: " + line);
  CHECK(refused("<<: {seed: 5}\n") == "a.yaml:1: " + line);
  CHECK(has(refused("stages: [&s {steps: 5}, {<<: *s, length: 64}]\n"), "merge keys"));
}
