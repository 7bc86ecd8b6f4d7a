// The facts and keys of the task matching.
#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> matching_keys() {
  return {
      ROFORMER_KEY(
          matching.loss,
          {.help = "pairs: (A, closer) is 1 and (A, farther) 0, by cross entropy "
                   "(RoFormer's authors); triplet: max(0, margin - difference of scores)"}),
      ROFORMER_KEY(matching.margin,
                   {.range = above(0),
                    .help = "triplet loss: margin by which the closer text must score higher"}),
      ROFORMER_KEY(matching.pooling,
                   {.help = "mean of the states of all tokens (RoFormer's authors), or the first "
                            "token's, [CLS]"}),
      ROFORMER_KEY(matching.head,
                   {.help = "between the pooled state and the score: linear has dropout and one "
                            "output (RoFormer's authors); the others as glue.head"}),
      ROFORMER_KEY(
          matching.head_dropout,
          {.unit = "probability", .range = below_one(), .help = "dropout inside the head"}),
      ROFORMER_KEY(matching.truncation,
                   {.help = "which end of a text stays where a pair is longer than data.length: "
                            "head, tail, or half of each (Sun 2019)"}),
      ROFORMER_KEY(matching.augmentation.swap,
                   {.help = "trains on (B, A, C), too, for each triplet (A, B, C) whose B is the "
                            "closer"}),
      ROFORMER_KEY(
          matching.augmentation.transitivity,
          {.help = "trains on (A, B, D), too, where B is closer than C and C closer than D"}),
  };
}

std::vector<TaskFigure> matching_figures(const Settings&) {
  return {{"loss", "validation_loss"},
          {"accuracy", "accuracy"},
          {"test_accuracy", "test_accuracy"},
          {"collapsed", "collapsed"}};
}

}  // namespace

TaskFacts matching_facts() {
  return {.task = TaskKind::matching,
          .name = "matching",
          .title = "matcher of texts",
          .data = TaskData::matching_folder,
          .data_hint =
              "make a folder of triplets with `roformer data triplets`, then "
              "--data.directory FOLDER",
          .labelled = true,
          .keys = matching_keys,
          .figures = matching_figures,
          .ranked_by = by_accuracy,
          .metrics = {{.name = "test_accuracy",
                       .title = "test accuracy",
                       .unit = "%",
                       .digits = 1,
                       .higher_is_better = true}},
          .columns = {"test_accuracy", "collapsed", "training_examples", "validation_examples",
                      "minutes"}};
}

}  // namespace roformer
