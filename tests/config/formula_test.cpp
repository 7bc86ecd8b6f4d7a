// Formulas as text: precedence, types, what depends on what, and messages with a caret.
#include <cmath>

#include "catch.h"
#include "config/config_helpers.h"
#include "config/dump.h"
#include "config/formula/expression.h"
#include "config/formula/parameters.h"
#include "config/load.h"
#include "config/schema.h"
#include "config/value.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

const FormulaNames kNames{
    .variables = {"i", "j", "h", "layer", "length", "heads", "layers", "score"},
    .parameters = {{.name = "slope", .of_head = true},
                   {.name = "table", .of_head = true, .table = true},
                   {.name = "fixed", .trained = false}}};

double value_of(const std::string& text, double i = 7, double j = 3) {
  const FormulaNode node = parse_formula(text, kNames);
  return evaluate_formula(
      node,
      {.variable = [&](const std::string& name) { return name == "i"   ? i
                                                         : name == "j" ? j
                                                                       : 2.0; },
       .parameter = [](std::size_t, double at) { return 10 + at; }});
}

std::string formula_refusal(const std::string& text) {
  try {
    parse_formula(text, kNames);
  } catch (const FormulaError& error) {
    return error.shown(text);
  }
  return "accepted";
}

std::string message_of_flags(const std::vector<Override>& overrides) {
  try {
    default_settings(overrides);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

void check_has(const std::string& said, const std::string& part) {
  INFO(said);
  CHECK(has(said, part));
}

}  // namespace

TEST_CASE("a formula's signs bind as in mathematics") {
  CHECK(value_of("1 + 2 * 3") == 7);
  CHECK(value_of("-2^2") == -4);
  CHECK(value_of("2^3^2") == 512);
  CHECK(value_of("2^-1") == 0.5);
  CHECK(value_of("8 / 4 / 2") == 1);
  CHECK(value_of("10 - 4 - 3") == 3);
  CHECK(value_of("-7 % 4") == 1);
  CHECK(value_of("(1 + 2) * 3") == 9);
  CHECK(value_of("where(i > j and not i == 2 or 1 > 2, 1.5e1, .5)") == 15);
  CHECK(value_of("sum(t, 0, 3, t * sum(u, 1, 2, u))") == 18);
  CHECK(value_of("clamp(i, 0, 5) + min(i, j) + max(i, j) + abs(j - i)") == 5 + 3 + 7 + 4);
  CHECK(value_of("floor(-0.5) + ceil(0.5) + log2(8) + sqrt(9)") == -1 + 1 + 3 + 3);
  CHECK(value_of("table[h, i - j]") == 14);
  CHECK(value_of("where(j > 5, log(j - 5), 1)") == 1);
}

TEST_CASE("a formula knows what is a function of the distance") {
  const auto by_distance = [](const std::string& text) {
    return parse_formula(text, kNames).uses.by_distance;
  };
  for (const char* text : {"abs(i - j)", "i - j + 1", "2 * i - j * 2", "(i + 1) - (j + 1)", "3",
                           "-(j - i)^2", "where(i < j, 1, i - j)", "table[h, max(i - j, 0)]",
                           "sum(t, 0, 3, cos(t * (i - j)))", "i <= j + 4"}) {
    INFO(text);
    CHECK(by_distance(text));
  }
  for (const char* text : {"i", "i + j", "i * j", "abs(i) - abs(j)", "log(i + 1)", "2 * i - j",
                           "i < 2 * j", "i / j"}) {
    INFO(text);
    CHECK_FALSE(by_distance(text));
  }
  CHECK(parse_formula("slope * (i - j)", kNames).uses.trained);
  CHECK(parse_formula("slope * (i - j)", kNames).uses.head);
  CHECK(parse_formula("fixed + i - j", kNames).uses.constant());
  CHECK(parse_formula("floor(i / 2) + j % 3", kNames).type == FormulaType::integer);
  CHECK(parse_formula("i / 2", kNames).type == FormulaType::number);
}

TEST_CASE("what is wrong with a formula stands over its caret") {
  CHECK(formula_refusal("-slop[h] * abs(i - j)") ==
        "column 2: nothing here is called slop (hint: did you mean slope)\n"
        "    -slop[h] * abs(i - j)\n"
        "     ^");
  CHECK(formula_refusal("1 + (i - j") ==
        "column 11: the end where `)` is wanted\n    1 + (i - j\n"
        "              ^");
  const auto says = [](const std::string& text, const std::string& words, std::size_t column) {
    INFO(text);
    const std::string said = formula_refusal(text);
    check_has(said, words);
    check_has(said, "column " + std::to_string(column) + ":");
  };
  says("i +", "the end where a number", 4);
  says("", "an empty formula", 1);
  says("i j", "after the end", 3);
  says("lgo(i)", "no function is called lgo", 1);
  says("abs(i, j)", "abs takes 1 arguments, got 2", 1);
  says("i = j", "an assignment", 3);
  says("i $ j", "a sign that no formula has", 3);
  says("where(i, 1, 2)", "a number where a condition is wanted", 7);
  says("1 + (i < j)", "a condition where a number is wanted", 6);
  says("table[i / 2]", "no integer expression", 7);
  says("table", "without an index", 1);
  says("table[floor(slope)]", "depends on a trained parameter", 7);
  says("slope[layer]", "has no such index", 7);
  says("i[h]", "takes no index", 2);
  says("sum(slope, 0, 3, 1)", "slope is the name of something else", 5);
  says("sum(i, 0, 3, i)", "i is the name of something else", 5);
  says("sum(exp, 0, 3, i)", "exp is the name of something else", 5);
  says("sum(t, 0, 3, sum(t, 0, 1, t))", "t is the name of something else", 18);
  says("sum(t, 0, i, t)", "a sum's bounds are integers", 11);
  says("sum(t, 0, 3, 1) + t", "nothing here is called t", 19);
  says(std::string(300, '(') + "i", "too deep a nesting", 101);
}

TEST_CASE("parameters of a formula are read, checked and printed") {
  const char* const text =
      "{slope: {per: head, initial: \"2^(-h)\", least: 1e-06}, table: {per: layer_head, size: 8, "
      "outside: clamp, initial: \"0\", most: 2, trained: false}}";
  CHECK(print_formula_parameters(parse_formula_parameters(text)) == text);
  CHECK(parse_formula_parameters("{rate: {positive: true}}")[0].least == 1e-6);
  const auto wanted = [](const std::string& given) -> std::string {
    try {
      parse_formula_parameters(given);
    } catch (const InvalidValue& invalid) {
      return invalid.what();
    }
    return "accepted";
  };
  check_has(wanted("{i: 1}"), "another name");
  check_has(wanted("{log: 1}"), "another name");
  check_has(wanted("{a: {per: token}}"), "per as one of model, layer, head, layer_head");
  check_has(wanted("{a: {size: 0}}"), "size as");
  check_has(wanted("{a: {sise: 3}}"), "only per, size");
  check_has(wanted("{a: 1, a: 2}"), "twice");
  check_has(wanted("[a]"), "parameters");
  check_has(wanted("{a: {least: 2, most: 1}}"), "not above the most");
}

TEST_CASE("settings with a formula that cannot be are refused in words") {
  const auto says = [](const std::vector<Override>& more, const std::string& words) {
    std::vector<Override> flags{{"position", "formula"}};
    flags.insert(flags.end(), more.begin(), more.end());
    check_has(message_of_flags(flags), words);
  };
  CHECK(message_of_flags({{"position", "formula"}}) == "accepted");
  says({{"position.bias", "abs(i - k)"}}, "column 9: nothing here is called k");
  says({{"position.bias", "abs(i - k)"}}, "\n    abs(i - k)\n            ^");
  says({{"position.bias", "i < j"}}, "a condition where a number is wanted");
  says({{"position.bias", "1"}, {"position.score", "score"}}, "both bias and score");
  says({{"position.bias", "score"}}, "nothing here is called score");
  says({{"position.bias", "i - j"}, {"position.parameters", "{a: 1}"}}, "a is not used");
  says({{"position.bias", "a[i - j]"}, {"position.parameters", "{a: {size: 8}}"}},
       "entry -127 of a, which has 8");
  says({{"position.bias", "a*i"}, {"position.parameters", "{a: {initial: \"log(h)\", per: head}}"}},
       "no number");
  says({{"position.bias", "a*i"}, {"position.parameters", "{a: {initial: 0, positive: true}}"}},
       "below its least value");
  says({{"position.bias", "a*i"}, {"position.parameters", "{a: {initial: i}}"}},
       "initial of a: column 1: nothing here is called i");
  says({{"position.bias", "sum(t, 0, 99999, t * i)"}}, "more than 65,536 terms");
  says({{"position.bias", "a*i"},
        {"position.parameters", "{a: {initial: \"sum(t, 0, 9999, sum(u, 0, 9999, u))\"}}"}},
       "sums of too many terms together");
  says({{"position.bias", "log(i - j)"}}, "comes to no number (at i = 0, j = 127, head 0)");
  // A parameter that is wrong is said once, and not of the formula.
  const std::string wrong = message_of_flags({{"position", "formula"},
                                              {"position.bias", "-s * abs(i - j)"},
                                              {"position.parameters", "{s: nan}"}});
  check_has(wrong, "initial of s: column 1: nothing here is called nan");
  CHECK(wrong.find("position.formula.bias") == std::string::npos);
  says({{"position.score", "1 / (i - j)"}}, "comes to");
  CHECK(message_of_flags({{"position", "formula"},
                          {"position.bias", "where(abs(i - j) < 9, 0, -1 / 0)"}}) == "accepted");
  says({{"position.bias", "i / length"}, {"task", "causal_lm"}}, "length in a model that looks");
}

TEST_CASE("a formula of a library is in the settings, not its name") {
  const TemporaryFolder folder;
  const auto library = folder.path / "own.yaml";
  write_file_atomically(library,
                        "near:\n  bias: \"-rate * abs(i - j)\"\n  parameters: {rate: 0.5}\n"
                        "  source: this test\nfar: {score: score + i - j}\n");
  const auto file = folder.path / "run.yaml";
  write_file_atomically(file, "position: {formula: own.yaml#near}\n");
  const Settings settings = load_settings(file);
  CHECK(settings.position.scheme == "formula");
  const FormulaSettings& formula = settings.position.of<FormulaSettings>();
  CHECK(formula.bias == "-rate * abs(i - j)");
  CHECK(formula.parameters.at(0).initial == "0.5");
  CHECK(formula.source == "this test");
  // What is dumped reads back without the library.
  const std::string dumped = dump(settings, DumpStyle::compact);
  CHECK(dumped.find("own.yaml") == std::string::npos);
  std::filesystem::remove(library);
  write_file_atomically(file, dumped);
  CHECK(diff(load_settings(file), settings).empty());

  write_file_atomically(library, "near: {bias: i - j}\n");
  check_has(message_of_flags({{"position.formula", library.string() + "#naer"}}),
            "did you mean near");
  check_has(message_of_flags({{"position.formula", library.string()}}), "FILE#NAME");
  check_has(message_of_flags({{"position.formula", "nowhere.yaml#x"}}), "there is no file");
  write_file_atomically(library, "near: {bias: i - j}\nq:\n  bias: i - q\nno: {source: me}\n");
  check_has(message_of_flags({{"position.formula", library.string() + "#q"}}),
            library.string() + ":3: position.formula.bias: column 5: nothing here is called q");
  check_has(message_of_flags({{"position.formula", library.string() + "#no"}}),
            "a formula with bias or score, which no lacks");
  CHECK(default_settings({{"position.formula", "-0.5 * abs(i - j)"}})
            .position.of<FormulaSettings>()
            .bias == "-0.5 * abs(i - j)");
  // A section of options is no name.
  write_file_atomically(file, "position: {scheme: formula, formula: {bias: j - i}}\n");
  CHECK(load_settings(file).position.of<FormulaSettings>().bias == "j - i");
  // The chosen scheme's options stand in the section, lists and maps among them.
  write_file_atomically(file,
                        "position: {scheme: formula, bias: a * (j - i), parameters: {a: 2}}\n");
  CHECK(load_settings(file).position.of<FormulaSettings>().parameters.at(0).initial == "2");
  write_file_atomically(file, "position: {formula: a * (j - i), parameters: {a: 3}}\n");
  CHECK(load_settings(file).position.of<FormulaSettings>().parameters.at(0).initial == "3");
}

TEST_CASE("every formula of the shipped library can be chosen") {
  const std::string library = FIXTURES "/../../configs/formulas.yaml";
  for (const char* name : {"alibi", "kerple", "kerple_power", "sandwich", "t5", "t5_encoder",
                           "window", "gaussian", "log_n", "query_temperature"}) {
    INFO(name);
    const Settings settings =
        default_settings({{"position.formula", library + "#" + name}, {"task", "causal_lm"}});
    CHECK_FALSE(settings.position.of<FormulaSettings>().source.empty());
  }
}
