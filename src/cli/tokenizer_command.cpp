// `roformer tokenizer`: trains tokenizers, and converts lines of text to ids and back.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/output_folder.h"
#include "base/printable.h"
#include "base/process.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/corpus_flags.h"
#include "cli/tokenizer_flags.h"
#include "data/corpus.h"
#include "data/line_reader.h"
#include "data/parallel_recipe.h"
#include "text/plain_tokenizers.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"
#include "text/tokenizer.h"
#include "text/trained_vocabularies.h"
#include "text/utf8.h"
#include "text/word_tokenizer.h"

namespace roformer {
namespace {

struct TrainArguments {
  CorpusFlags corpus;
  std::string side = "both";  // for a recipe of sentence pairs
  std::filesystem::path output;
  std::string kind = "unigram";
  SentencePieceTraining training;
  VocabularyTraining vocabulary;  // of WordPiece and byte-level BPE; `training` has its size
  bool cased = false;
  std::uint64_t sample = 1'000'000;
  std::uint64_t seed = 1;
  bool overwrite = false;
};

// Visits the training pairs of a parallel corpus that pass its rules, source and target in turn.
template <class Action>
void for_each_sentence(const std::filesystem::path& recipe, const TrainArguments& arguments,
                       Action action) {
  ParallelCorpus corpus = read_parallel_recipe(recipe).corpus;
  corpus.set_reading(arguments.corpus.follow_links, arguments.corpus.skip_broken);
  ProgressBar bar("reading", 0, "pairs");
  std::uint64_t pairs = 0;
  for_each_training_pair(corpus, [&](const std::string& source, const std::string& target) {
    if (arguments.side != "target") action(source);
    if (arguments.side != "source") action(target);
    bar.advance_to(++pairs);
  });
  bar.finish(pairs);
}

// Reads the corpus with a progress bar and calls action(line) for each line.
template <class Action>
void for_each_line(const TrainArguments& arguments, Action action) {
  const std::optional<std::filesystem::path> recipe = recipe_among(arguments.corpus.inputs);
  if (recipe && is_parallel_recipe(*recipe)) {
    if (const std::string flag = first_text_flag(arguments.corpus); !flag.empty()) {
      throw_usage(flag, "is for running text, not for a recipe of sentence pairs");
    }
    return for_each_sentence(*recipe, arguments, action);
  }
  if (arguments.side != "both") {
    throw_usage("--side", "is for a recipe of sentence pairs");
  }
  const CorpusOptions corpus = recipe_of(arguments.corpus).corpus;
  class Sink final : public CorpusSink {
   public:
    Sink(Action& action, std::uint64_t bytes) : action_(action), bar_("reading", bytes, "B") {}
    void line(std::string_view text) override { action_(text); }
    void end_document() override {}
    void progress(std::uint64_t done) override { bar_.advance_to(read_ = done); }
    void finish() { bar_.finish(read_); }

   private:
    Action& action_;
    ProgressBar bar_;
    std::uint64_t read_ = 0;
  };
  Sink sink(action, corpus_bytes(list_corpus_files(corpus)));
  read_corpus(corpus, sink);
  sink.finish();
}

std::unique_ptr<Tokenizer> train_characters(const TrainArguments& arguments) {
  CharacterCounter counter;
  for_each_line(arguments, [&](std::string_view line) {
    counter.add(line);
    counter.add("\n");
  });
  return make_character_tokenizer(counter.vocabulary(arguments.training.pieces), "characters");
}

std::unique_ptr<Tokenizer> train_pieces(const TrainArguments& arguments) {
  SentencePieceTraining training = arguments.training;
  if (arguments.kind == "bpe") training.algorithm = SentencePieceAlgorithm::bpe;
  SentenceSample sample(arguments.sample, arguments.seed);
  for_each_line(arguments, [&](std::string_view line) { sample.add(line); });
  if (sample.seen() == 0) {
    throw_failure(arguments.corpus.inputs.front().string(), "has no text to train on",
                  "empty, or its recipe's rules remove everything");
  }
  const auto kept = static_cast<std::int64_t>(sample.sentences().size());
  log::info("training {} pieces ({}) on {} of {} sentences", format_count(training.pieces),
            arguments.kind, format_count(kept),
            format_count(static_cast<std::int64_t>(sample.seen())));
  const ElapsedLine elapsed("training the tokenizer");
  return make_sentencepiece_tokenizer(train_sentencepiece(sample.sentences(), training),
                                      "trained model");
}

// WordPiece or byte-level BPE, on all of the text.
template <class Trainer>
std::unique_ptr<Tokenizer> train_merges(const TrainArguments& arguments, Trainer trainer) {
  for_each_line(arguments, [&](std::string_view line) { trainer.add(line); });
  const WordCounts& words = trainer.words();
  if (words.counts().empty()) {
    throw_failure(arguments.corpus.inputs.front().string(), "has no text to train on",
                  "empty, or its recipe's rules remove everything");
  }
  if (words.forgotten() > 0) {
    log::warn(
        "the text has too many different words to keep: those that occurred at most {} times "
        "when memory was full were forgotten",
        words.forgotten());
  }
  VocabularyTraining training = arguments.vocabulary;
  training.pieces = arguments.training.pieces;
  log::info("training {} pieces ({}) on {} different words", format_count(training.pieces),
            arguments.kind, format_count(std::ssize(words.counts())));
  ProgressBar bar("merging", static_cast<std::uint64_t>(training.pieces), "pieces");
  bar.begin();
  training.progress = [&](std::uint64_t pieces) { bar.advance_to(pieces); };
  std::unique_ptr<Tokenizer> tokenizer = trainer.train(training);
  const auto trained = tokenizer->vocabulary_size();
  bar.finish(static_cast<std::uint64_t>(trained));
  if (trained < training.pieces) {
    log::warn("the text yields {} pieces, {} are wanted: no other pair occurs {} times",
              format_count(trained), format_count(training.pieces),
              format_count(static_cast<std::int64_t>(training.min_frequency)));
  }
  return tokenizer;
}

std::unique_ptr<Tokenizer> train_kind(const TrainArguments& arguments) {
  if (arguments.kind == "characters") return train_characters(arguments);
  if (arguments.kind == "wordpiece") {
    return train_merges(arguments, WordPieceTrainer(arguments.cased));
  }
  if (arguments.kind == "byte_level") return train_merges(arguments, ByteLevelTrainer());
  return train_pieces(arguments);
}

void print_info(const Tokenizer& tokenizer) {
  std::cout << fmt::format("{}\n  vocabulary   {} entries\n  fingerprint  {:016x}\n",
                           clean_line(tokenizer.description()),
                           format_count(tokenizer.vocabulary_size()), tokenizer.fingerprint());
  const SpecialTokens& special = tokenizer.special();
  const std::pair<const char*, TokenId> ids[] = {{"padding", special.padding},
                                                 {"unknown", special.unknown},
                                                 {"begin", special.classification},
                                                 {"end", special.separator},
                                                 {"mask", special.mask}};
  for (const auto& [name, id] : ids) {
    std::cout << fmt::format(
        "  {:<11}  {}\n", name,
        id < 0 ? "none" : clean_line(fmt::format("{} {}", id, tokenizer.piece(id))));
  }
}

// Checks the output folder, then writes the tokenizer that make() returns into it.
template <class Make>
void make_folder(const TrainArguments& arguments, Make make) {
  OutputFolder output({.output = arguments.output,
                       .overwrite = arguments.overwrite,
                       .flag = "--output",
                       .contents = "a tokenizer and nothing else",
                       .is_replaceable = holds_only_tokenizer});
  const std::unique_ptr<Tokenizer> tokenizer = make();
  save_shared_tokenizer(*tokenizer, output.path());
  output.commit();
  std::cout << arguments.output.string() << ": ";
  print_info(*tokenizer);
}

void train(const TrainArguments& arguments) {
  make_folder(arguments, [&] { return train_kind(arguments); });
}

struct CountArguments {
  TrainArguments corpus;
  std::filesystem::path dictionary;
  bool cased = false;
  bool characters = false;
};

void count_words(const CountArguments& arguments) {
  make_folder(arguments.corpus, [&] {
    WordFiles files{.vocabulary_location = "counted vocabulary",
                    .dictionary = read_file(arguments.dictionary, kLargestVocabulary),
                    .dictionary_location = arguments.dictionary.string(),
                    .cased = arguments.cased,
                    .characters = arguments.characters};
    const WordDictionary dictionary(files.dictionary, files.dictionary_location);
    WordCounter counter(dictionary, arguments.cased);
    for_each_line(arguments.corpus, [&](std::string_view line) { counter.add(line); });
    files.vocabulary = counter.vocabulary(arguments.corpus.training.pieces, arguments.characters);
    return make_word_tokenizer(word_model(files), "words");
  });
}

// Writes the text that action(line) returns for each line of standard input. Also writes the texts
// before an error.
template <class Action>
void transform_lines(LineReader& lines, Action action) {
  constexpr std::size_t kWriteBytes = 1 << 16;
  std::string output;
  const auto write = [&] {
    std::cout << output << std::flush;
    if (!std::cout) finish_output();
    output.clear();
  };
  try {
    for (std::string_view line; lines.next(line);) {
      output += action(line) + '\n';
      if (output.size() >= kWriteBytes || lines.may_wait()) write();
    }
  } catch (const Error&) {
    write();
    throw;
  }
  write();
}

struct EncodeFlags {
  bool pieces = false;
  bool special = false;
};

// The tokenizer replaces malformed UTF-8; the reader does not, because a tokenizer of bytes keeps
// it.
void encode_lines(const Tokenizer& tokenizer, const EncodeFlags& flags) {
  LineReader lines("-", LineReader::kAnyLength);
  std::vector<TokenId> ids;
  transform_lines(lines, [&](std::string_view line) {
    std::string output;
    ids.clear();
    flags.special ? tokenizer.encode_prompt(line, ids) : tokenizer.encode(line, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) output += ' ';
      if (flags.pieces) {
        output += tokenizer.piece(ids[i]);
      } else {
        const fmt::format_int digits(ids[i]);
        output.append(digits.data(), digits.size());
      }
    }
    return output;
  });
  lines.add_replaced(tokenizer.invalid_sequences());
  lines.warn_of_replaced();
}

std::vector<TokenId> parse_ids(std::string_view line, const std::string& location,
                               const Tokenizer& tokenizer) {
  std::vector<TokenId> ids;
  const char* const end = line.data() + line.size();
  for (const char* cursor = line.data(); cursor < end;) {
    if (*cursor == ' ' || *cursor == '\t' || *cursor == '\r') {
      ++cursor;
      continue;
    }
    TokenId id = -1;
    const auto [rest, error] = std::from_chars(cursor, end, id);
    const bool whole = rest == end || *rest == ' ' || *rest == '\t' || *rest == '\r';
    if (error != std::errc() || !whole || id < 0 || id >= tokenizer.vocabulary_size()) {
      const std::string_view word(cursor, static_cast<std::size_t>(end - cursor));
      throw_failure(location, fmt::format("\"{}\" is not an id from 0 to {}",
                                          word.substr(0, word.find_first_of(" \t\r")),
                                          tokenizer.vocabulary_size() - 1));
    }
    ids.push_back(id);
    cursor = rest;
  }
  return ids;
}

void decode_lines(const Tokenizer& tokenizer, bool with_special) {
  LineReader lines("-", LineReader::kAnyLength);
  transform_lines(lines, [&](std::string_view line) {
    return as_one_line(
        tokenizer.decode(parse_ids(line, lines.location(), tokenizer), with_special));
  });
}

// Adds an option and shows its default in the help.
template <typename Value>
CLI::Option* add_value(CLI::App& command, const std::string& name, Value& value,
                       const std::string& help, const std::string& type) {
  return command.add_option(name, value, help)->capture_default_str()->type_name(type);
}

void add_word(CLI::App& command, const std::string& name, std::string& value,
              const std::string& help, const std::vector<std::string>& words) {
  add_value(command, name, value, help, "WORD")->check(CLI::IsMember(words));
}

void check_special(const std::vector<std::string>& special) {
  std::set<std::string> seen = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (const std::string& token : special) {
    const bool blank = token.find_first_of(" \t\r\n") != std::string::npos;
    if (token.empty() || blank || !is_valid_utf8(token)) {
      throw_usage("--special",
                  fmt::format("is {}, wanted a word without spaces", printable(token)));
    }
    if (!seen.insert(token).second) {
      throw_usage("--special", fmt::format("names {} twice", printable(token)),
                  "[PAD] [UNK] [CLS] [SEP] [MASK] are special tokens without it");
    }
  }
}

void add_train(CLI::App& parent) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = add_command(
      parent,
      {.name = "train",
       .summary = "Train SentencePiece, WordPiece or byte-level BPE, or list a corpus' characters",
       .details = "INPUT is a recipe of data/ (a .yaml file), or text: files, folders, tar or "
                  "zip archives, - for standard input; it may be compressed and larger than "
                  "memory. The vocabulary begins with [PAD] [UNK] [CLS] [SEP] [MASK].\n"
                  "wordpiece (BERT's) and byte_level (GPT-2's) learn from all of the text what "
                  "Hugging Face's trainers learn. transformers' AutoTokenizer loads the folder."});
  add_corpus_flags(*command, arguments->corpus);
  add_word(*command, "--side", arguments->side,
           "side of a recipe of sentence pairs: both (a joint vocabulary), source or target",
           {"both", "source", "target"});
  command->add_option("--output", arguments->output, "folder to make")
      ->required()
      ->type_name("FOLDER");
  add_word(*command, "--kind", arguments->kind,
           "unigram or bpe (of SentencePiece), wordpiece, byte_level or characters",
           {"unigram", "bpe", "wordpiece", "byte_level", "characters"});
  add_value(*command, "--pieces", arguments->training.pieces,
            "entries of the vocabulary, special tokens included (characters: at most)", "N")
      ->check(CLI::Range(6, 10'000'000));
  add_value(*command, "--sample", arguments->sample,
            "sentences kept in memory for training, drawn evenly; 0: all", "N");
  add_value(*command, "--seed", arguments->seed, "seed of the sample", "N");
  add_value(*command, "--coverage", arguments->training.character_coverage,
            "share of the characters that get a piece", "NUMBER")
      ->check(number_in(between(0.9, 1)));
  add_word(*command, "--normalization", arguments->training.normalization,
           "nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf (cf: case folded) or identity",
           {"nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"});
  command->add_flag("--byte-fallback", arguments->training.byte_fallback,
                    "write rare characters as bytes instead of [UNK]");
  add_value(*command, "--min-frequency", arguments->vocabulary.min_frequency,
            "wordpiece, byte_level: how often a pair of pieces occurs that becomes one", "N");
  add_value(*command, "--alphabet", arguments->vocabulary.most_characters,
            "wordpiece: at most this many characters get a piece, the rarest do not; 0: all", "N");
  command->add_flag("--cased", arguments->cased, "wordpiece: keep upper case and accents");
  command
      ->add_option("--special", arguments->vocabulary.special,
                   "wordpiece, byte_level: a further special token, as '<|user|>'; may be repeated")
      ->type_name("TOKEN")
      ->allow_extra_args(false);
  command->add_flag("--overwrite", arguments->overwrite, "replace a tokenizer that is there");
  command->callback([arguments, command] {
    const std::string& kind = arguments->kind;
    const std::string named = "is not for --kind " + kind;
    const bool sentencepiece = kind == "unigram" || kind == "bpe";
    if (!sentencepiece) {
      refuse_given(*command,
                   {"--sample", "--seed", "--coverage", "--normalization", "--byte-fallback"},
                   named + ", which takes all of the text as it is");
    }
    if (kind != "wordpiece") refuse_given(*command, {"--alphabet", "--cased"}, named);
    if (sentencepiece || kind == "characters") {
      refuse_given(*command, {"--min-frequency", "--special"}, named);
    }
    check_special(arguments->vocabulary.special);
    train(*arguments);
  });
}

void add_count(CLI::App& parent) {
  auto arguments = std::make_shared<CountArguments>();
  CLI::App* command = add_command(
      parent,
      {.name = "count",
       .summary = "Make a tokenizer of Chinese words: the most frequent ones of a corpus",
       .details = "roformer tokenizer count zhwiki.txt --dictionary dict.txt --pieces 20000\n"
                  "    --output words\n"
                  "The text is cut into the words of the dictionary (jieba's format, one word and "
                  "its count per line; Debian's python3-jieba has one), and the most frequent "
                  "words and characters are the vocabulary."});
  TrainArguments& corpus = arguments->corpus;
  add_corpus_flags(*command, corpus.corpus);
  command
      ->add_option("--dictionary", arguments->dictionary, "words and counts, as jieba's dict.txt")
      ->required()
      ->type_name("FILE");
  command->add_option("--output", corpus.output, "folder to make")->required()->type_name("FOLDER");
  add_value(*command, "--pieces", corpus.training.pieces,
            "entries of the vocabulary at most, special tokens included", "N")
      ->check(CLI::Range(6, 10'000'000));
  command->add_flag("--cased", arguments->cased, "keep upper case and accents");
  command->add_flag("--characters", arguments->characters,
                    "every Chinese character is a piece; the dictionary only tells whole-word "
                    "masks what a word is");
  command->add_flag("--overwrite", corpus.overwrite, "replace a tokenizer that is there");
  command->callback([arguments] { count_words(*arguments); });
}

void add_encode(CLI::App& parent) {
  auto arguments = std::make_shared<TokenizerFlags>();
  auto flags = std::make_shared<EncodeFlags>();
  CLI::App* command = add_command(
      parent, {.name = "encode",
               .summary = "Write the ids of each line of standard input",
               .details = "One line of output per line of input, without special tokens."});
  add_tokenizer_flags(*command, *arguments, true);
  command->add_flag("--pieces", flags->pieces, "write the pieces instead of their ids");
  command->add_flag("--special", flags->special,
                    "special tokens that the text names, as <|im_start|>, are tokens, as in a "
                    "prompt; else letters, as in data");
  command->callback([arguments, flags] { encode_lines(*open_tokenizer_of(*arguments), *flags); });
}

void add_decode(CLI::App& parent) {
  auto arguments = std::make_shared<TokenizerFlags>();
  auto with_special = std::make_shared<bool>(false);
  CLI::App* command =
      add_command(parent, {.name = "decode",
                           .summary = "Write the text of each line of ids on standard input",
                           .details = "The reverse of `tokenizer encode`: one line of output per "
                                      "line of input, in which line breaks become spaces."});
  add_tokenizer_flags(*command, *arguments, true);
  command->add_flag("--with-special", *with_special, "write special tokens too");
  command->callback(
      [arguments, with_special] { decode_lines(*open_tokenizer_of(*arguments), *with_special); });
}

void add_export(CLI::App& parent) {
  auto tokenizer = std::make_shared<TokenizerFlags>();
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* command = add_command(
      parent, {.name = "export",
               .summary = "Write a tokenizer as a folder that transformers' AutoTokenizer loads",
               .details = "The folder has tokenizer.json and tokenizer_config.json, and commands "
                          "of this program take it, too. `roformer export` writes the same files "
                          "beside a model."});
  add_tokenizer_flags(*command, *tokenizer, true);
  command->add_option("--output", arguments->output, "folder to make")
      ->required()
      ->type_name("FOLDER");
  command->add_flag("--overwrite", arguments->overwrite, "replace a tokenizer that is there");
  command->callback([arguments, tokenizer] {
    make_folder(*arguments, [&] { return open_tokenizer_of(*tokenizer); });
  });
}

void add_info(CLI::App& parent) {
  auto arguments = std::make_shared<TokenizerFlags>();
  CLI::App* command = add_command(
      parent, {.name = "info",
               .summary = "Show kind, size, special tokens and fingerprint of a tokenizer",
               .details = ""});
  add_tokenizer_flags(*command, *arguments, true);
  command->callback([arguments] { print_info(*open_tokenizer_of(*arguments)); });
}

}  // namespace

void add_tokenizer_command(CLI::App& program) {
  CLI::App* tokenizer = add_listed_command(program, "tokenizer");
  tokenizer->require_subcommand(1);
  add_train(*tokenizer);
  add_count(*tokenizer);
  add_export(*tokenizer);
  add_encode(*tokenizer);
  add_decode(*tokenizer);
  add_info(*tokenizer);
}

}  // namespace roformer
