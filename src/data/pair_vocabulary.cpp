#include "data/pair_vocabulary.h"

#include "base/log.h"
#include "base/progress.h"
#include "text/sentencepiece_tokenizer.h"
#include "text/sentencepiece_training.h"

namespace roformer {
namespace {

std::shared_ptr<const Tokenizer> train(const SentenceSample& sample,
                                       const SentencePieceTraining& training,
                                       const std::string& languages) {
  log::info("training {} pieces for {} on {} of {} sentences", format_count(training.pieces),
            languages, format_count(static_cast<std::int64_t>(sample.sentences().size())),
            format_count(static_cast<std::int64_t>(sample.seen())));
  return make_sentencepiece_tokenizer(train_sentencepiece(sample.sentences(), training),
                                      "trained model");
}

}  // namespace

PairTokenizers train_pair_vocabulary(const ParallelCorpus& corpus,
                                     const PairVocabulary& vocabulary) {
  SentenceSample first(vocabulary.sample, corpus.seed);
  SentenceSample second(vocabulary.sample, corpus.seed);
  SentenceSample& of_target = vocabulary.joint ? first : second;
  for_each_training_pair(corpus, [&](const std::string& source, const std::string& target) {
    first.add(source);
    of_target.add(target);
  });
  const PairLanguages& names = corpus.languages;
  PairTokenizers tokenizers;
  if (vocabulary.joint) {
    tokenizers.source = train(first, vocabulary.training, names.source + " and " + names.target);
    tokenizers.target = tokenizers.source;
  } else {
    tokenizers.source = train(first, vocabulary.training, names.source);
    tokenizers.target = train(second, vocabulary.training, names.target);
  }
  return tokenizers;
}

}  // namespace roformer
