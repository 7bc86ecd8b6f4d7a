#include "cli/tokenizer_flags.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "config/words.h"
#include "text/subword_tokenizer.h"

namespace roformer {

void add_tokenizer_flags(CLI::App& command, TokenizerFlags& flags, bool positional) {
  CLI::Option* const file =
      command
          .add_option(positional ? "tokenizer,--tokenizer" : "--tokenizer", flags.settings.file,
                      "a folder of `tokenizer train`, a SentencePiece model, a vocab.txt, a "
                      "tokenizer.json, a vocab.json beside merges.txt, or tiktoken's ranks")
          ->type_name("FILE");
  CLI::Option* const wordpiece =
      command.add_option("--wordpiece", flags.wordpiece, "a WordPiece vocab.txt of BERT")
          ->type_name("FILE")
          ->excludes(file);
  CLI::Option* const dictionary =
      command
          .add_option("--dictionary", flags.settings.dictionary,
                      "dictionary of Chinese words, like jieba's dict.txt: with --wordpiece the "
                      "tokenizer of WoBERT and the Chinese RoFormer")
          ->type_name("FILE")
          ->needs(wordpiece);
  command
      .add_flag("--characters", flags.settings.characters,
                "every Chinese character is a piece, and --dictionary only tells masks of whole "
                "words (data.masking.whole_words) what a word is")
      ->needs(dictionary);
  CLI::Option* const cased =
      command.add_flag("--cased", flags.settings.cased, "WordPiece: keep upper case and accents");
  command.add_flag("--bytes", flags.bytes, "no vocabulary: every byte is a token")
      ->excludes(file)
      ->excludes(wordpiece);
  CLI::Option* const codes =
      command
          .add_option("--bpe-codes", flags.bpe_codes,
                      "merges of subword-nmt or fastBPE; the text is tokenised already")
          ->type_name("FILE")
          ->excludes(file)
          ->excludes(wordpiece)
          ->excludes(cased);
  CLI::Option* const vocabulary = command
                                      .add_option("--bpe-vocabulary", flags.bpe_vocabulary,
                                                  "the pieces of --bpe-codes with their counts")
                                      ->type_name("FILE")
                                      ->needs(codes);
  codes->needs(vocabulary);
  command
      .add_option("--bpe-threshold", flags.bpe_threshold,
                  "pieces of --bpe-vocabulary with a lower count are split (default: 0)")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000'000))
      ->needs(codes);
}

bool is_tokenizer_named(const TokenizerFlags& flags) {
  return flags.bytes || !flags.settings.file.empty() || !flags.wordpiece.empty() ||
         !flags.bpe_vocabulary.empty();
}

bool may_keep_case(const Tokenizer& tokenizer) {
  return tokenizer.kind() == TokenizerKind::wordpiece || tokenizer.kind() == TokenizerKind::words;
}

std::unique_ptr<Tokenizer> open_tokenizer_of(TokenizerFlags flags) {
  TokenizerSettings& settings = flags.settings;
  if (!flags.bpe_vocabulary.empty()) {
    return make_subword_tokenizer(
        subword_model({.codes = read_file(flags.bpe_codes, kLargestVocabulary),
                       .codes_location = flags.bpe_codes.string(),
                       .vocabulary = read_file(flags.bpe_vocabulary, kLargestVocabulary),
                       .vocabulary_location = flags.bpe_vocabulary.string(),
                       .threshold = flags.bpe_threshold}),
        flags.bpe_codes.string());
  }
  if (flags.bytes) settings.kind = TokenizerKind::bytes;
  if (!flags.wordpiece.empty()) {
    settings.kind = settings.dictionary.empty() ? TokenizerKind::wordpiece : TokenizerKind::words;
    settings.file = flags.wordpiece;
  }
  if (!flags.bytes && settings.file.empty()) {
    throw_usage("tokenizer", "no tokenizer is named",
                "--tokenizer FILE (make one with `roformer tokenizer train`), or --bytes");
  }
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(settings);
  if (settings.cased && !may_keep_case(*tokenizer)) {
    throw_usage("--cased", fmt::format("is for WordPiece, and the tokenizer is {}",
                                       to_word(tokenizer->kind())));
  }
  return tokenizer;
}

}  // namespace roformer
