// Keys of the tokenizer and the data.
#include "config/schema_row.h"
#include "config/words.h"

namespace roformer {
namespace {

constexpr TaskKind kMlm = TaskKind::mlm;
constexpr TaskKind kCausal = TaskKind::causal_lm;
constexpr TaskKind kGlue = TaskKind::glue;
constexpr TaskKind kMatching = TaskKind::matching;

// Tasks that read labelled examples from files.
std::vector<TaskKind> tasks_of_files() {
  return {TaskKind::classification, TaskKind::tagging, TaskKind::embedding};
}
// Tasks whose texts the training tokenizes.
std::vector<TaskKind> tasks_of_texts() {
  std::vector<TaskKind> tasks = tasks_of_files();
  tasks.insert(tasks.begin(), {kGlue, kMatching});
  return tasks;
}
// Tasks that divide their data by data.validation_fraction.
std::vector<TaskKind> tasks_that_divide() {
  std::vector<TaskKind> tasks = tasks_of_files();
  tasks.insert(tasks.begin(), {kMlm, kCausal});
  return tasks;
}

}  // namespace

std::vector<Key> data_keys() {
  return {
      ROFORMER_KEY(tokenizer.kind,
                   {.help = "auto: detected from the file", .tasks = tasks_of_texts()}),
      ROFORMER_KEY(
          tokenizer.file,
          {.help =
               "SentencePiece model, WordPiece vocabulary or tokenizer.json; default: model.from's "
               "(mlm, causal_lm: the one that the data were prepared with)",
           .tasks = tasks_of_texts()}),
      ROFORMER_KEY(tokenizer.cased,
                   {.help = "WordPiece only: keep capitals and accents, as BERT's cased models",
                    .tasks = tasks_of_texts()}),
      ROFORMER_KEY(
          tokenizer.dictionary,
          {.help = "dictionary of Chinese words with their counts, like jieba's dict.txt: turns "
                   "tokenizer.file, a vocab.txt, into the word tokenizer of WoBERT and RoFormer",
           .tasks = tasks_of_texts()}),
      ROFORMER_KEY(tokenizer.characters,
                   {.help = "every Chinese character is a piece; tokenizer.dictionary only says "
                            "which of them are a word",
                    .tasks = tasks_of_texts()}),

      ROFORMER_KEY(data.directory, {.help = "prepared shards (mlm, causal_lm), the folder of a "
                                            "GLUE task (glue) or of triplets (matching); a probe "
                                            "has none",
                                    .decides = Decides::nothing}),
      ROFORMER_KEY(data.train,
                   {.help = "file of labelled examples: CSV, TSV, JSON Lines, Parquet or "
                            "(tagging) CoNLL columns, compressed or not",
                    .tasks = tasks_of_files(),
                    .decides = Decides::nothing}),
      ROFORMER_KEY(data.validation,
                   {.help = "file of examples to validate on; empty: data.validation_fraction of "
                            "data.train",
                    .tasks = tasks_of_files(),
                    .decides = Decides::nothing}),
      ROFORMER_KEY(data.header, {.help = "the first line of a CSV or TSV file names its columns",
                                 .tasks = tasks_of_files(),
                                 .of_file = true}),
      ROFORMER_KEY(
          data.sources,
          {.help = "several prepared data sets to train on, a list of {directory, weight}, "
                   "whose rows are mixed in the proportion of the weights (default 1); "
                   "data.directory, of the same tokenizer, is what is validated on",
           .tasks = {kMlm, kCausal},
           .decides = Decides::nothing}),
      ROFORMER_KEY(data.length, {.unit = "tokens",
                                 .range = between(2, 1 << 20),
                                 .help = "length of a row; texts and pairs: longer ones are cut "
                                         "off; probe: the longest in training"}),
      ROFORMER_KEY(data.cross_documents,
                   {.help = "rows are filled from consecutive documents; true: attention sees "
                            "across the separator between them (RoBERTa's FULL-SENTENCES)",
                    .tasks = {kMlm, kCausal}}),
      ROFORMER_KEY(
          data.validation_fraction,
          {.unit = "share of the documents",
           .range = {.low = 0, .high = 1, .high_open = true},
           .help =
               "the share that the data set must have been prepared with (RoFormer 4.2: 0.2; 0: "
               "any), or the share of data.train held out if data.validation is empty (0: a tenth)",
           .tasks = tasks_that_divide(),
           .decides = Decides::nothing}),
      ROFORMER_KEY(data.validation_tokens,
                   {.unit = "tokens",
                    .range = at_least(1),
                    .help = "a validation uses at most this many, in whole rows",
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
                                              .help = "tokens chosen to be predicted (BERT: 0.15)",
                                              .tasks = {kMlm}}),
      ROFORMER_KEY(data.masking.mask, {.unit = "share of the chosen",
                                       .range = between(0, 1),
                                       .help = "chosen tokens that become [MASK] (BERT: 0.8)",
                                       .tasks = {kMlm}}),
      ROFORMER_KEY(data.masking.random,
                   {.unit = "share of the chosen",
                    .range = between(0, 1),
                    .help = "chosen tokens that become a random token; the rest stay (BERT: 0.1)",
                    .tasks = {kMlm}}),
      ROFORMER_KEY(
          data.masking.whole_words,
          {.help = "all pieces of a word are chosen together (BERT's later models; Chinese words "
                   "if the tokenizer has a dictionary). In scripts without spaces each piece is a "
                   "word; more than 32 pieces do not count as a word",
           .tasks = {kMlm}}),
  };
}

}  // namespace roformer
