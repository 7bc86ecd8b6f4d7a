// Entities of tag sequences and their figures, equal to seqeval's (entity_cases.json).
#include "metrics/entities.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"

using namespace roformer;

namespace {

void check_row(const nlohmann::json& wanted, const PrecisionRecall& figures, std::int64_t support) {
  CHECK(figures.precision == Approx(wanted["precision"].get<double>()).margin(1e-12));
  CHECK(figures.recall == Approx(wanted["recall"].get<double>()).margin(1e-12));
  CHECK(figures.f1 == Approx(wanted["f1-score"].get<double>()).margin(1e-12));
  CHECK(static_cast<double>(support) == wanted["support"].get<double>());
}

}  // namespace

TEST_CASE("precision, recall and F1 of entities equal seqeval's, broken sequences included") {
  using Sentences = std::vector<std::vector<std::string>>;
  const auto cases = nlohmann::json::parse(read_file(FIXTURES "/entity_cases.json"));
  CHECK(cases.size() == 152);
  std::size_t types = 0;
  for (const nlohmann::json& each : cases) {
    const auto labelled = each["labelled"].get<Sentences>();
    const auto predicted = each["predicted"].get<Sentences>();
    CAPTURE(each["scheme"].dump(), each["labelled"].dump(), each["predicted"].dump());
    EntityScores scores(each["scheme"] == "bio" ? EntityRule::lenient : EntityRule::strict_bioes);
    for (std::size_t i = 0; i < labelled.size(); ++i) scores.add(labelled[i], predicted[i]);
    const nlohmann::json& report = each["report"];
    const EntityCounts total = scores.total();
    check_row(report["micro avg"], total.figures(), total.labelled);
    check_row(report["macro avg"], scores.macro(), total.labelled);
    check_row(report["weighted avg"], scores.weighted(), total.labelled);
    CHECK(report.size() == scores.types().size() + 3);
    for (const auto& [type, counts] : scores.types()) {
      ++types;
      REQUIRE(report.contains(type));
      check_row(report[type], counts.figures(), counts.labelled);
    }
  }
  CHECK(types > 200);
}

TEST_CASE("entities have a type and the words from their beginning to their end") {
  const std::vector<std::string> tags = {"I-A", "I-A", "B-A", "O", "S-B", "B-C", "E-C", "I-C"};
  const std::vector<Entity> lenient = {
      {"A", 0, 2}, {"A", 2, 3}, {"B", 4, 5}, {"C", 5, 7}, {"C", 7, 8}};
  CHECK(entities_of(tags, EntityRule::lenient) == lenient);
  const std::vector<Entity> strict = {{"B", 4, 5}, {"C", 5, 7}};
  CHECK(entities_of(tags, EntityRule::strict_bioes) == strict);
  CHECK(entities_of({}, EntityRule::lenient).empty());
}

TEST_CASE("with plain tags precision, recall and F1 are the accuracy") {
  EntityScores scores(EntityRule::words);
  scores.add({"DET", "NOUN", "VERB", "NOUN"}, {"DET", "VERB", "VERB", "NOUN"});
  const PrecisionRecall total = scores.total().figures();
  CHECK(total.precision == 0.75);
  CHECK(total.recall == 0.75);
  CHECK(total.f1 == 0.75);
  CHECK(scores.types().at("VERB").figures().precision == 0.5);
}
