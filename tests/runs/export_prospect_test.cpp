// What a run will export as is said before it is trained, and is what the export does.
#include "runs/export_prospect.h"

#include "catch.h"
#include "config/load.h"
#include "has.h"
#include "message_of.h"
#include "runs/export_run.h"
#include "runs/tiny_run.h"
#include "said.h"

using namespace roformer;

TEST_CASE("what is said before a training is what its export is") {
  const auto [position, more] = GENERATE(table<std::string, std::vector<Override>>({
      {"rope", {}},
      {"learned", {}},
      {"alibi", {}},
      {"rope", {{"model.norm", "pre"}}},
      {"rope", {{"task", "causal_lm"}}},
      {"rope",
       {{"task", "causal_lm"},
        {"model.norm", "pre"},
        {"model.norm_kind", "rms_norm"},
        {"model.bias", "false"},
        {"model.activation", "swiglu"},
        {"model.head", "linear"}}},
  }));
  CAPTURE(position, more.size());
  const TinyRun tiny(position, more);
  const std::string told = said([&] { train_run(tiny.settings, ExistingRun::refuse); });
  const ExportProspect prospect = export_prospect(tiny.settings);
  const auto folder = tiny.folder.path / "exported";
  if (prospect.architecture.empty()) {
    CHECK(has(told, "cannot be exported: " + prospect.problem));
    CHECK(has(message_of([&] { export_run(tiny.run(), "last", folder); }), prospect.problem));
  } else {
    CHECK(has(told, "exports as " + prospect.architecture));
    CHECK(export_run(tiny.run(), "last", folder).architecture == prospect.architecture);
  }
}

TEST_CASE("of translators, classifiers, matchers and probes it is said, too") {
  const auto line = [](const std::vector<Override>& flags) {
    return export_line(default_settings(flags));
  };
  CHECK(line({{"task", "translation"}, {"position", "sinusoidal"}}) == "exports as MarianMTModel");
  CHECK(has(line({{"task", "translation"}}), "cannot be exported: transformers' MarianMTModel"));
  CHECK(line({{"task", "glue"}, {"position", "learned"}}) ==
        "exports as BertForSequenceClassification");
  CHECK(has(line({{"task", "matching"}}), "cannot be exported: "));
  CHECK(line({{"task", "probe"}}).empty());
}
