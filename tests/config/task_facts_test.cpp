#include "config/task_facts.h"

#include <algorithm>

#include "catch.h"
#include "config/words.h"

using namespace roformer;

TEST_CASE("every task has its facts, and what ranks its checkpoints is one of its figures") {
  REQUIRE(all_task_facts().size() == 10);
  for (std::size_t i = 0; i < all_task_facts().size(); ++i) {
    const auto task = static_cast<TaskKind>(i);
    CAPTURE(to_word(task));
    const TaskFacts& facts = task_facts(task);
    CHECK(facts.task == task);
    CHECK(find_task(to_word(task)) == &facts);
    CHECK(&facts == &all_task_facts()[i]);
    CHECK(facts.data_hint.empty() == (facts.data == TaskData::generated));
    for (std::size_t glue = 0; glue < Words<GlueTask>::texts.size(); ++glue) {
      Settings settings;
      settings.task = task;
      settings.glue.task = static_cast<GlueTask>(glue);
      const std::vector<TaskFigure> figures = facts.figures(settings);
      const auto has = [&](std::string_view name) {
        return std::ranges::find(figures, name, &TaskFigure::figure) != figures.end();
      };
      CHECK(has("loss"));
      CHECK(has(facts.ranked_by(settings)));
    }
  }
}

TEST_CASE("a figure has the name that studies know, of MNLI's second set, too") {
  Settings settings;
  CHECK(metric_of("loss", settings) == "validation_loss");
  CHECK(metric_of("accuracy", settings) == "masked_accuracy");
  CHECK(metric_of("odd", settings) == "odd");
  settings.task = TaskKind::glue;
  settings.glue.task = GlueTask::mnli;
  CHECK(metric_of("accuracy", settings) == "accuracy");
  CHECK(metric_of("loss_mismatched", settings) == "validation_loss_mismatched");
}
