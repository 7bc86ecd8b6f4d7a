// Keys of the tokenizer, the data and the GLUE tasks.
#include "config/schema_row.h"
#include "config/words.h"

namespace roformer {
namespace {

constexpr TaskKind kMlm = TaskKind::mlm;
constexpr TaskKind kCausal = TaskKind::causal_lm;
constexpr TaskKind kGlue = TaskKind::glue;
constexpr TaskKind kMatching = TaskKind::matching;

}  // namespace

std::vector<Key> data_keys() {
  return {
      ROFORMER_KEY(tokenizer.kind,
                   {.help = "auto tells it from the file", .tasks = {kGlue, kMatching}}),
      ROFORMER_KEY(
          tokenizer.file,
          {.help =
               "SentencePiece model, WordPiece vocabulary or tokenizer.json; default: model.from's "
               "(mlm, causal_lm: the one that the data were prepared with)",
           .tasks = {kGlue, kMatching}}),
      ROFORMER_KEY(tokenizer.cased,
                   {.help = "WordPiece only: keep capitals and accents, as BERT's cased models",
                    .tasks = {kGlue, kMatching}}),
      ROFORMER_KEY(
          tokenizer.dictionary,
          {.help = "of Chinese words with their counts, as jieba's dict.txt: makes "
                   "tokenizer.file, a vocab.txt, the word tokenizer of WoBERT and RoFormer",
           .tasks = {kGlue, kMatching}}),
      ROFORMER_KEY(tokenizer.characters,
                   {.help = "every Chinese character is a piece; tokenizer.dictionary only says "
                            "which of them are a word",
                    .tasks = {kGlue, kMatching}}),

      ROFORMER_KEY(data.directory, {.help = "prepared shards (mlm, causal_lm), the folder of a "
                                            "GLUE task (glue) or of triplets (matching); a probe "
                                            "has none",
                                    .decides = Decides::nothing}),
      ROFORMER_KEY(
          data.sources,
          {.help = "several prepared data sets to train on, a list of {directory, weight}, "
                   "whose rows are mixed in the proportion of the weights (default 1); "
                   "data.directory, of the same tokenizer, is what is validated on",
           .tasks = {kMlm, kCausal},
           .decides = Decides::nothing}),
      ROFORMER_KEY(data.length, {.unit = "tokens",
                                 .range = between(2, 1 << 20),
                                 .help = "length of a row; glue, matching: the longest that is "
                                         "not cut off; probe: the longest of training"}),
      ROFORMER_KEY(data.cross_documents,
                   {.help = "rows are filled from consecutive documents; true: attention sees "
                            "across the separator between them (RoBERTa's FULL-SENTENCES)",
                    .tasks = {kMlm, kCausal}}),
      ROFORMER_KEY(data.validation_fraction,
                   {.unit = "share of the documents",
                    .range = {.low = 0, .high = 1, .high_open = true},
                    .help = "that the data set must have been prepared with (RoFormer 4.2: 0.2); "
                            "0: any",
                    .tasks = {kMlm, kCausal},
                    .decides = Decides::nothing}),
      ROFORMER_KEY(data.validation_tokens, {.unit = "tokens",
                                            .range = at_least(1),
                                            .help = "a validation uses at most so many, in whole "
                                                    "rows",
                                            .tasks = {kMlm, kCausal},
                                            .decides = Decides::figures}),
      ROFORMER_KEY(data.loader_threads, {.unit = "threads",
                                         .range = between(0, 256),
                                         .help = "threads that make batches ahead; 0: made when "
                                                 "needed. The batches do not depend on it",
                                         .decides = Decides::nothing}),
      ROFORMER_KEY(data.prefetch, {.unit = "batches",
                                   .range = between(1, 10000),
                                   .help = "how many batches are made ahead",
                                   .decides = Decides::nothing}),
      ROFORMER_KEY(data.masking.probability, {.unit = "share of the tokens",
                                              .range = {.low = 0, .high = 1, .low_open = true},
                                              .help = "chosen to be predicted (BERT: 0.15)",
                                              .tasks = {kMlm}}),
      ROFORMER_KEY(data.masking.mask, {.unit = "share of the chosen",
                                       .range = between(0, 1),
                                       .help = "becomes [MASK] (BERT: 0.8)",
                                       .tasks = {kMlm}}),
      ROFORMER_KEY(data.masking.random,
                   {.unit = "share of the chosen",
                    .range = between(0, 1),
                    .help = "becomes a random token, the rest stays (BERT: 0.1)",
                    .tasks = {kMlm}}),
      ROFORMER_KEY(data.masking.whole_words,
                   {.help = "all pieces of a word are chosen together (BERT's later models; of "
                            "Chinese words where the tokenizer has a dictionary). In scripts "
                            "without spaces a piece is a word, and more than 32 pieces are none",
                    .tasks = {kMlm}}),

      ROFORMER_KEY(glue.task,
                   {.help = "which task of the benchmark (Wang 2019)", .tasks = {kGlue}}),
      ROFORMER_KEY(glue.head,
                   {.help = "bert: dense and tanh on [CLS], dropout, output; roformer: the head of "
                            "Hugging Face's RoFormer (dropout, dense, activation, dropout, "
                            "output); modernbert: that of its ModernBERT (dense, activation, norm, "
                            "dropout, output), whose first two begin as the masked language "
                            "head's; linear: dropout, output",
                    .tasks = {kGlue}}),
      ROFORMER_KEY(glue.head_dropout, {.unit = "probability",
                                       .range = below_one(),
                                       .help = "dropout inside the head",
                                       .tasks = {kGlue}}),
      ROFORMER_KEY(glue.class_names,
                   {.help = "what `predict` and an export call the task's labels, in their order: "
                            "NEGATIVE|POSITIVE; empty: as the task does. An imported classifier's "
                            "are its folder's",
                    .tasks = {TaskKind::glue},
                    .decides = Decides::nothing}),
      ROFORMER_KEY(glue.pooling, {.help = "what the head reads: the state of the first token, "
                                          "[CLS], or the mean of the states of all tokens",
                                  .tasks = {kGlue}}),

      ROFORMER_KEY(matching.loss,
                   {.help = "pairs: (A, closer) is 1 and (A, farther) 0, by cross entropy "
                            "(RoFormer's authors); triplet: max(0, margin - difference of scores)",
                    .tasks = {kMatching}}),
      ROFORMER_KEY(matching.margin, {.range = above(0),
                                     .help = "by which the closer text must score higher, of the "
                                             "triplet loss",
                                     .tasks = {kMatching}}),
      ROFORMER_KEY(matching.pooling,
                   {.help = "mean of the states of all tokens (RoFormer's authors), or the first "
                            "token's, [CLS]",
                    .tasks = {kMatching}}),
      ROFORMER_KEY(
          matching.head,
          {.help = "between the pooled state and the score: linear has dropout and one "
                   "output (RoFormer's authors); bert, roformer and modernbert as glue.head",
           .tasks = {kMatching}}),
      ROFORMER_KEY(matching.head_dropout, {.unit = "probability",
                                           .range = below_one(),
                                           .help = "dropout inside the head",
                                           .tasks = {kMatching}}),
      ROFORMER_KEY(matching.truncation,
                   {.help = "which end of a text stays where a pair is longer than data.length: "
                            "head, tail, or half of each (Sun 2019)",
                    .tasks = {kMatching}}),
      ROFORMER_KEY(matching.augmentation.swap,
                   {.help = "trains on (B, A, C), too, for each triplet (A, B, C) whose B is the "
                            "closer",
                    .tasks = {kMatching}}),
      ROFORMER_KEY(
          matching.augmentation.transitivity,
          {.help = "trains on (A, B, D), too, where B is closer than C and C closer than D",
           .tasks = {kMatching}}),
  };
}

}  // namespace roformer
