#include "experiments/declaration/study_schema.h"

#include <string>

#include "config/assignment.h"
#include "config/json_schema.h"

namespace roformer {
namespace {

using Json = nlohmann::ordered_json;

Json typed(const char* type, const char* help) {
  return {{"type", type}, {"description", help}};
}

Json list_of(const Json& items, const char* help) {
  return {{"type", "array"}, {"description", help}, {"items", items}};
}

// The keys that files assign, nested and dotted, beside the properties of the object.
void add_keys(Json& object, const Json& settings) {
  object["properties"].update(settings["properties"]);
  object["patternProperties"] = settings["patternProperties"];
}

Json study_section() {
  Json study = closed_object("how the runs are named and shown");
  const Json number{{"type", {"number", "string"}}};
  const Json text{{"type", "string"}};
  Json paper = closed_object("");
  for (const char* const name : {"row", "metric", "source", "model"}) {
    paper["properties"][name] = {{"type", {"string", "number"}}};
  }
  paper["properties"]["value"] = number;
  Json line = closed_object("");
  line["properties"] = {{"label", text}, {"value", number}};
  Json primary = closed_object("tests declared beforehand, which are corrected together");
  primary["properties"] = {
      {"rows", list_of({{"type", {"string", "number"}}}, "rows, each against the reference")},
      {"metrics", list_of(text, "the compared figures; default: the study's metric")}};
  primary["required"] = {"rows"};
  study["properties"] = {
      {"primary", primary},
      {"name", typed("string", "the folder under `runs`; default: the file's name")},
      {"metric", typed("string", "the figure that sorts the table; default: validation_loss")},
      {"columns", list_of(text, "figures to show beside it")},
      {"paper", list_of(paper, "values of a paper to show beside ours")},
      {"choose", typed("string", "an axis of which only the best value is shown")},
      {"spread", typed("string", "an axis whose values are the columns of a separate table")},
      {"reference", typed("string", "the row with which the others are compared")},
      {"reference_lines", list_of({{"anyOf", {Json{{"const", "unigram"}}, line}}},
                                  "lines in the charts: unigram, or a label and a value")},
      {"trainings", typed("string", "another study whose trainings are used")},
      {"note", typed("string", "a text below the tables")},
      {"version", typed("integer", "version of a protocol, whose results are kept")}};
  return study;
}

// Lists of values of keys.
Json matrix_section(const char* help) {
  Json matrix = closed_object(help);
  for (const std::string& key : assignable_keys()) {
    if (key == "run" || key == "runs") continue;  // a study names its runs itself
    const Json value{{"anyOf", {reference_to(key), Json{{"type", "object"}}}}};
    matrix["properties"][key] = {{"type", "array"}, {"minItems", 1}, {"items", value}};
  }
  return matrix;
}

Json variants_section(const Json& settings) {
  Json variant = closed_object("");
  add_keys(variant, settings);
  variant["properties"].erase("extends");
  variant["properties"]["name"] = {{"type", {"string", "number"}}};
  variant["required"] = {"name"};
  return list_of(variant, "named sets of keys; each is a run");
}

Json evaluate_section() {
  Json variant = closed_object("");
  for (const std::string& key : assignable_keys()) {
    const bool fits =
        key == "position" || key.starts_with("position.") || key.starts_with("attention.");
    if (fits) variant["properties"][key] = reference_to(key);
  }
  for (const char* const name : {"name", "stretch"}) {
    variant["properties"][name] = {{"type", "string"}};
  }
  variant["properties"]["scheme"] = reference_to("position.scheme");
  variant["required"] = {"name"};
  Json evaluate = closed_object("how the trained models are evaluated");
  const Json length{{"type", "integer"}, {"minimum", 2}};
  evaluate["properties"] = {
      {"lengths", list_of(length, "tokens of a row")},
      {"variants", list_of(variant, "keys that differ from the training's")},
      {"split", {{"enum", {"validation", "test"}}, {"description", "the texts that are read"}}},
      {"sentences", typed("integer", "for translators: the first ones of the split; 0: all")},
      {"examples", typed("integer", "for translators: shown side by side")}};
  return evaluate;
}

Json tune_section(const Json& settings) {
  Json with = closed_object("keys of these runs that differ from the table's");
  add_keys(with, settings);
  Json tune = closed_object("keys that are chosen for each row in advance");
  tune["properties"] = {
      {"values", matrix_section("keys with the values that are tried")},
      {"with", with},
      {"per", list_of({{"type", "string"}}, "axes that have a choice each; default: all but seed")},
      {"metric", typed("string", "the figure that decides; default: the study's")},
      {"start", list_of({{"type", {"string", "number"}}},
                        "the values that are tried first; the next ones follow at an edge")},
      {"record", typed("string", "a record whose trials are taken where they are the same")}};
  tune["required"] = {"values"};
  return tune;
}

}  // namespace

Json json_schema() {
  Json result = json_schema_of_settings();
  const Json settings = result;
  Json& properties = result["properties"];
  properties["study"] = study_section();
  properties["matrix"] = matrix_section("keys with lists of values; each combination is a run");
  properties["variants"] = variants_section(settings);
  properties["evaluate"] = evaluate_section();
  properties["tune"] = tune_section(settings);
  return result;
}

}  // namespace roformer
