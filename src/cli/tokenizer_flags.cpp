#include "cli/tokenizer_flags.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/words.h"

namespace roformer {

void add_tokenizer_flags(CLI::App& command, TokenizerFlags& flags, bool positional) {
  CLI::Option* const file =
      command
          .add_option(positional ? "tokenizer,--tokenizer" : "--tokenizer", flags.settings.file,
                      "a folder of `tokenizer train`, a SentencePiece model, or a vocab.txt")
          ->type_name("FILE");
  CLI::Option* const wordpiece =
      command.add_option("--wordpiece", flags.wordpiece, "a WordPiece vocab.txt of BERT")
          ->type_name("FILE")
          ->excludes(file);
  command.add_flag("--cased", flags.settings.cased, "WordPiece: keep upper case and accents");
  command.add_flag("--bytes", flags.bytes, "no vocabulary: every byte is a token")
      ->excludes(file)
      ->excludes(wordpiece);
}

std::unique_ptr<Tokenizer> open_tokenizer_of(TokenizerFlags flags) {
  TokenizerSettings& settings = flags.settings;
  if (flags.bytes) settings.kind = TokenizerKind::bytes;
  if (!flags.wordpiece.empty()) {
    settings.kind = TokenizerKind::wordpiece;
    settings.file = flags.wordpiece;
  }
  if (!flags.bytes && settings.file.empty()) {
    throw_usage("tokenizer", "no tokenizer is named",
                "--tokenizer FILE (make one with `roformer tokenizer train`), or --bytes");
  }
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(settings);
  if (settings.cased && tokenizer->kind() != TokenizerKind::wordpiece) {
    throw_usage("--cased", fmt::format("is for WordPiece, {} is {}", settings.file.string(),
                                       to_word(tokenizer->kind())));
  }
  return tokenizer;
}

}  // namespace roformer
