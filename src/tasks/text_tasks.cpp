#include "tasks/text_tasks.h"

#include "base/error.h"

namespace roformer {

std::shared_ptr<const Tokenizer> text_tokenizer(const TaskSources& sources) {
  const TokenizerSettings& settings = sources.settings.tokenizer;
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!sources.stored.empty()) {
    tokenizer = load_tokenizer(sources.stored);
  } else {
    const bool named = !settings.file.empty() || settings.kind != TokenizerKind::automatic ||
                       !settings.dictionary.empty();
    tokenizer = named ? open_tokenizer(settings) : sources.offered;
  }
  if (tokenizer == nullptr) {
    throw_usage("tokenizer.file", "is not given, and there is no model.from to take one from",
                "--model.from RUN, or --tokenizer.file vocab.txt for a new model");
  }
  require_sentence_tokens(*tokenizer);
  return tokenizer;
}

BucketOptions text_bucket_options(const Settings& settings) {
  constexpr std::int64_t kAllLengths = 1 << 30;
  BucketOptions options{.seed = settings.seed};
  if (settings.training.batch_tokens > 0) {
    options.tokens = settings.training.batch_tokens;
  } else {
    options.sequences = settings.training.batch;
    options.bucket_width = kAllLengths;
  }
  return options;
}

std::vector<std::int32_t> lengths_of(const std::vector<EncodedText>& texts) {
  std::vector<std::int32_t> lengths;
  for (const EncodedText& text : texts) lengths.push_back(static_cast<std::int32_t>(text.length()));
  return lengths;
}

}  // namespace roformer
