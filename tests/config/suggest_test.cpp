#include "config/suggest.h"

#include <algorithm>
#include <set>

#include "catch.h"
#include "config/assignment.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/synonyms.h"

using namespace roformer;

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("kitten", "sitting") == 3);  // the textbook's example
  CHECK(edit_distance("rope", "rpoe") == 1);
  CHECK(edit_distance("abc", "") == 3);
}

TEST_CASE("the nearest word is suggested only when it is near") {
  const std::vector<std::string> known{"training.steps", "training.batch", "model.layers", "rope"};
  CHECK(nearest_word("trainig.steps", known) == "training.steps");
  CHECK(nearest_word("steps", known) == "training.steps");
  CHECK(nearest_word("ropp", known) == "rope");
  CHECK(nearest_word("banana", known).empty());
  CHECK(nearest_word(std::string(100'000, 'a'), known).empty());
  CHECK(suggestion("layers", known) == "did you mean model.layers");
}

TEST_CASE("capitals, hyphens, flags and last parts are seen through") {
  const std::vector<std::string> known{"--position", "--training.steps", "--training.batch",
                                       "--training.learning_rate"};
  CHECK(nearest_word("--steps", known) == "--training.steps");
  CHECK(nearest_word("--learning-rate", known) == "--training.learning_rate");
  CHECK(nearest_word("--lerning_rate", known) == "--training.learning_rate");
  CHECK(nearest_word("--Position", known) == "--position");
  CHECK(nearest_word("model.batch", known) == "--training.batch");
  CHECK(nearest_word("ROPE", {"none", "rope"}) == "rope");
}

TEST_CASE("a key is looked for in the section that it is said to be in") {
  const std::vector<std::string> known{"--position.layers", "--model.layers", "--training.steps",
                                       "--training.keep_last"};
  CHECK(nearest_word("--model.num_layers", known) == "--model.layers");
  CHECK(nearest_word("--training.keep", known) == "--training.keep_last");
}

TEST_CASE("what other programs call it is known") {
  CHECK(nearest_word("gpu", {"auto", "cpu", "cuda"}) == "cuda");
  CHECK(nearest_word("--lr", {"--seed", "--training.learning_rate"}) == "--training.learning_rate");
  CHECK(nearest_word("--batch_size", {"--training.batch_tokens", "--training.batch"}) ==
        "--training.batch");
  CHECK(nearest_word("--batch-size", {"--training.batch"}) == "--training.batch");
  CHECK(nearest_word("rotary", {"alibi", "rope"}) == "rope");
  CHECK(nearest_word("lr", {"rope"}).empty());  // nothing here has that name
}

TEST_CASE("the arguments of transformers and the fields of config.json lead to our keys") {
  for (const auto& [theirs, ours] : {std::pair{"--learning_rate", "--training.learning_rate"},
                                     {"--per_device_train_batch_size", "--training.batch"},
                                     {"--max_seq_length", "--data.length"},
                                     {"--hidden_size", "--model.width"},
                                     {"--num_hidden_layers", "--model.layers"},
                                     {"--num_attention_heads", "--model.heads"},
                                     {"--eval_steps", "--training.validate_every"},
                                     {"--save_steps", "--training.save_every"},
                                     {"--warmup_steps", "--training.warmup"},
                                     {"--weight_decay", "--training.weight_decay"},
                                     {"--gradient_accumulation_steps", "--training.accumulation"},
                                     {"--output_dir", "--runs"},
                                     {"--model_name_or_path", "--model.from"},
                                     {"--optim", "--training.optimizer"}}) {
    std::vector<std::string> flags;
    for (const std::string& key : assignable_keys()) flags.push_back("--" + key);
    CHECK(nearest_word(theirs, flags) == ours);
    CHECK(nearest_word(std::string(theirs).substr(2), assignable_keys()) ==
          std::string(ours).substr(2));
  }
  CHECK(suggestion("fp16", assignable_keys()) == "did you mean training.precision bf16");
  CHECK(suggestion("gradient_checkpointing", assignable_keys()) ==
        "did you mean training.recompute layer");
  CHECK(suggestion("num_train_epochs", assignable_keys()) ==
        "did you mean training.steps 3e (epochs)");
}

TEST_CASE("the field's names of schemes and tasks are known") {
  for (const auto& [theirs, ours] : {std::pair{"rotary", "rope"},
                                     {"nope", "none"},
                                     {"relative", "shaw"},
                                     {"rel", "shaw"},
                                     {"absolute", "learned"},
                                     {"t5_bias", "t5"},
                                     {"alibi_bias", "alibi"}}) {
    CHECK(nearest_word(theirs, position_names()) == ours);
  }
  const std::vector<std::string>& tasks = find_key("task")->words;
  CHECK(nearest_word("ner", tasks) == "tagging");
  CHECK(nearest_word("text-classification", tasks) == "classification");
  CHECK(nearest_word("summarization", tasks) == "translation");
}

TEST_CASE("every synonym means a key, a value or a flag that is there") {
  std::set<std::string> known{"resume", "overwrite", "tokens", "samples"};  // flags of commands
  for (const std::string& key : assignable_keys()) known.insert(key);
  for (const Key& key : schema()) known.insert(key.words.begin(), key.words.end());
  std::set<std::string_view> words;
  for (const Synonym& synonym : synonyms()) {
    CAPTURE(synonym.word);
    CHECK(known.contains(std::string(synonym.meant)));
    CHECK(words.insert(synonym.word).second);
    const Key* const key = find_key(synonym.meant);
    if (key != nullptr && key->type == KeyType::word && !synonym.value.empty()) {
      CHECK(std::ranges::count(key->words, synonym.value) == 1);
    }
  }
}

TEST_CASE("of two equally near words it is the one that begins alike for longer") {
  CHECK(edit_distance("sted", "seed") == edit_distance("sted", "step"));
  CHECK(nearest_word("sted", {"seed", "step"}) == "step");
  CHECK(nearest_word("sted", {"step", "seed"}) == "step");
}
