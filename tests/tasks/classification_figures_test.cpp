// The figures of classifiers equal scikit-learn's (classification_cases.json, by
// make_classification_cases.py).
#include <ATen/ops/tensor.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "tasks/classification/classification_figures.h"

using namespace roformer;

namespace {

using Json = nlohmann::json;

struct Case {
  Targets targets;
  at::Tensor outputs;
  std::vector<LabelledText> examples;

  explicit Case(const Json& json) {
    const auto rows = json["outputs"].get<std::vector<std::vector<float>>>();
    std::vector<float> flat;
    for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
    const auto classes = static_cast<std::int64_t>(rows.front().size());
    outputs = at::tensor(flat).view({-1, classes});
    targets.kind = json["kind"] == "multi" ? TargetKind::multi : TargetKind::single;
    for (std::int64_t i = 0; i < classes; ++i) targets.classes.push_back(std::to_string(i));
    targets.names = targets.classes;
    targets.figures = {"accuracy", "macro_f1", "micro_f1", "matthews", "auc"};
    for (const Json& label : json["labels"]) {
      LabelledText& example = examples.emplace_back();
      if (label.is_array()) {
        example.labels = label.get<std::vector<std::int64_t>>();
      } else {
        example.label = label;
      }
    }
  }
};

const Json& cases() {
  static const Json loaded = Json::parse(read_file(FIXTURES "/classification_cases.json"));
  return loaded;
}

}  // namespace

TEST_CASE("accuracy, F1, Matthews, area and loss of classes are scikit-learn's") {
  for (const Json& json : cases()) {
    CAPTURE(json["outputs"].size(), json["kind"]);
    const Case given(json);
    const auto found = classification_figures(given.targets, given.outputs, given.examples);
    for (const auto& [name, wanted] : json["figures"].items()) {
      CAPTURE(name);
      REQUIRE(found.values.contains(name));
      if (wanted.is_null()) {  // scikit-learn refuses the area of one class
        CHECK(found.values.at(name) == 0);
        CHECK(std::ranges::find(found.undefined, name) != found.undefined.end());
      } else {
        CHECK(found.values.at(name) == Approx(wanted.get<double>()).margin(1e-9).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("precision, recall, F1 and confusion of each class are scikit-learn's") {
  for (const Json& json : cases()) {
    if (json["kind"] == "multi") continue;
    const Case given(json);
    const auto predictions = predictions_of(given.targets, given.outputs);
    const auto counts = class_counts(given.targets, given.examples, predictions);
    REQUIRE(counts.size() == json["classes"].size());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const Json& wanted = json["classes"][i];
      CHECK(counts[i].precision() == Approx(wanted[0].get<double>()));
      CHECK(counts[i].recall() == Approx(wanted[1].get<double>()));
      CHECK(counts[i].f1() == Approx(wanted[2].get<double>()));
      CHECK(static_cast<double>(counts[i].actual) == wanted[3].get<double>());
    }
    CHECK(Json(confusion_matrix(given.targets, given.examples, predictions)) == json["confusion"]);
  }
}

TEST_CASE("balanced weights are scikit-learn's, and weigh the loss of each example") {
  for (const Json& json : cases()) {
    if (json["kind"] == "multi") continue;
    const Case given(json);
    const at::Tensor weights = balanced_class_weights(given.targets, given.examples);
    const auto wanted = json["weights"].get<std::vector<float>>();
    CHECK((weights - at::tensor(wanted)).abs().max().item<double>() < 1e-6);
    std::vector<const LabelledText*> all;
    double by_hand = 0;
    for (std::size_t i = 0; i < given.examples.size(); ++i) {
      all.push_back(&given.examples[i]);
      const auto row = static_cast<std::int64_t>(i);
      const std::int64_t label = given.examples[i].label;
      by_hand -= wanted[static_cast<std::size_t>(label)] *
                 given.outputs[row].log_softmax(0)[label].item<double>();
    }
    CHECK(classification_loss_sum(given.targets, given.outputs, all, weights).item<double>() ==
          Approx(by_hand).epsilon(1e-5));
  }
}

TEST_CASE("the surest mistakes come first, and several labels are right only together") {
  Targets targets{.kind = TargetKind::multi, .classes = {"a", "b"}, .names = {"a", "b"}};
  const at::Tensor outputs = at::tensor({3.0f, -3.0f, 1.0f, 1.0f, -1.0f, -2.0f}).view({3, 2});
  const std::vector<LabelledText> examples = {{.labels = {0}}, {.labels = {0}}, {.labels = {0}}};
  const auto predictions = predictions_of(targets, outputs);
  CHECK(right_labels(examples, predictions) == std::vector<bool>{true, false, false});
  CHECK(prediction_text(targets.names, predictions[1]) == "a|b");
  CHECK(prediction_text(targets.names, predictions[2]) == "");
  const auto mistakes = mistakes_of(targets, examples, predictions, 5);
  REQUIRE(mistakes.size() == 2);
  CHECK(mistakes[0].weight == Approx(0.7310585786));  // 1 - sigmoid(-1) and sigmoid(1) are equal
}

TEST_CASE("classes are found by their names, and without case and signs only where they are not") {
  using Order = std::vector<std::int64_t>;
  const auto order = [](const std::vector<std::string>& ours,
                        const std::vector<std::string>& theirs) {
    Settings settings{.task = TaskKind::classification};
    settings.classification.classes = ours;
    return class_order(theirs, settings);
  };
  CHECK(order({"-1", "0", "1"}, {"-1", "0", "1"}) == Order{0, 1, 2});
  CHECK(order({"C", "C++", "C#"}, {"C#", "C", "C++"}) == Order{1, 2, 0});
  CHECK(order({"pos", "neg"}, {"NEG", "Pos"}) == Order{1, 0});
  CHECK(order({"-1", "1"}, {"1", "2"}).empty());  // both of ours would be "1"
  CHECK(order({"a", "b"}, {"a", "b", "c"}).empty());
}
