// `roformer bench attention` as a user calls it, in sizes that take no time.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

Outcome bench(std::vector<std::string> words) {
  words.insert(words.begin(), {"bench", "attention", "--model.width", "32", "--model.heads", "2",
                               "--lengths", "128,64", "--repeats", "1", "--window", "16"});
  return run(std::move(words));
}

}  // namespace

TEST_CASE("attention is measured against the length, with charts and as JSON") {
  const TemporaryFolder folder;
  const std::string chart = (folder.path / "chart.svg").string();
  const Outcome text = bench({"--forms", "--chart", chart});
  CAPTURE(text.errors);
  REQUIRE(text.code == 0);
  CHECK(has(text.output, "a causal attention layer (2 heads, width 32, rope)"));
  CHECK(has(text.output, "window"));
  CHECK(has(text.output, "forms of causal linear attention"));
  CHECK(has(read_file(chart), "memory of a pass against length"));
  const Outcome page = bench(
      {"--kernels", "softmax,elu", "--json", "--chart", (folder.path / "chart.html").string()});
  REQUIRE(page.code == 0);
  const auto json = nlohmann::json::parse(page.output);
  REQUIRE(json["rows"].size() == 4);
  CHECK(json["rows"][0]["length"] == 64);
  CHECK(json["rows"][3]["kernel"] == "elu");
  CHECK(json["rows"][3]["training_ms"].get<double>() > 0);
  CHECK(has(read_file(folder.path / "chart.html"), "<svg"));
}

TEST_CASE("mistakes in the benchmark of attention are one line") {
  CHECK(has(bench({"--kernels", "elo"}).errors, "'elo' is none (known: softmax, window, elu"));
  CHECK(has(bench({"--chart", "a.png"}).errors, "is neither .svg nor .pdf nor .html"));
  CHECK(has(bench({"--json", "--markdown"}).errors, "are forms of one table"));
}
