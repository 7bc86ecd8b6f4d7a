// The facts and keys of translation, and the keys of decoding.
#include "config/schema_row.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<Key> translation_keys() {
  std::vector<Key> keys = {
      ROFORMER_KEY(translation.decoder_layers,
                   {.unit = "layers",
                    .range = between(0, 1000),
                    .help = "layers of the decoder; 0: as many as the encoder's model.layers (a "
                            "deep encoder beside a shallow decoder: 12 and 1, Kasai 2021)"}),
      ROFORMER_KEY(translation.tie_embeddings,
                   {.help = "source and target share one token table (Vaswani 2017, 3.4); needs a "
                            "joint vocabulary"}),
      ROFORMER_KEY(translation.tie_output,
                   {.help = "the output projection is the target's token table (Press 2017)"}),
      ROFORMER_KEY(translation.output_bias, {.help = "the output projection has a bias"}),
      ROFORMER_KEY(translation.activation_dropout,
                   {.unit = "probability",
                    .range = below_one(),
                    .help = "dropout after the activation inside a feed-forward sub-layer"}),
      ROFORMER_KEY(translation.label_smoothing,
                   {.unit = "share",
                    .range = below_one(),
                    .help = "share of the target's probability that is spread over the vocabulary "
                            "(Vaswani 2017: 0.1); validations report the loss without it"}),
      ROFORMER_KEY(
          translation.ranked_by,
          {.help = "validation metric that ranks checkpoints and counts for training.patience"}),

      ROFORMER_KEY(decoding.beam, {.unit = "hypotheses",
                                   .range = between(1, 1000),
                                   .help = "hypotheses kept open per sentence; 1: greedy search"}),
      ROFORMER_KEY(decoding.length_penalty,
                   {.help = "wu: log p / ((5+n)/6)^alpha (Wu 2016, equation 14); average: log p / "
                            "n^alpha; n counts the end"}),
      ROFORMER_KEY(decoding.alpha, {.range = between(0, 10),
                                    .help = "exponent of the length penalty (Vaswani 2017: 0.6)"}),
      ROFORMER_KEY(decoding.stopping,
                   {.help = "exact: no open hypothesis can still win; estimate: the best open one, "
                            "as long as it is now, loses to the worst of `beam` finished ones "
                            "(transformers' early_stopping false); full: `beam` are finished "
                            "(fairseq, CTranslate2, early_stopping true)"}),
      ROFORMER_KEY(decoding.unknown, {.help = "a translation may contain the unknown token"}),
      ROFORMER_KEY(decoding.renormalize,
                   {.help = "tokens that are never chosen (padding, begin) take no share of the "
                            "probability (transformers' renormalize_logits)"}),
      ROFORMER_KEY(decoding.repetition_penalty,
                   {.range = between(0.01, 100),
                    .help = "above 1: a token that the text holds already is less likely: its log "
                            "probability (of a greedy search its logit) is multiplied by it, or "
                            "divided where it is above 0 (Keskar 2019, 4.1, as transformers has "
                            "it); 1: none"}),
      ROFORMER_KEY(decoding.no_repeat_ngram,
                   {.unit = "tokens",
                    .range = between(0, 1 << 20),
                    .help = "no sequence of this many tokens occurs twice in a text (transformers' "
                            "no_repeat_ngram_size); 0: they may"}),
      ROFORMER_KEY(decoding.first_token,
                   {.unit = "id",
                    .range = at_least(-1),
                    .help = "token of the target's vocabulary with which every translation starts, "
                            "at no cost (transformers' forced_bos_token_id); -1: none"}),
      ROFORMER_KEY(
          decoding.free_end,
          {.help = "a translation that reaches the longest length ends at no cost, as with "
                   "transformers' forced_eos_token_id; false: its end has the probability "
                   "that the model gives it"}),
      ROFORMER_KEY(decoding.longest_factor,
                   {.range = between(0, 1000),
                    .help = "a translation has at most longest_factor times the source's tokens"}),
      ROFORMER_KEY(decoding.longest_extra, {.unit = "tokens",
                                            .range = between(1, 1 << 20),
                                            .help = "plus this many more (Vaswani 2017, 6.1: 50)"}),
      ROFORMER_KEY(
          decoding.batch_tokens,
          {.unit = "tokens",
           .range = between(1, 1 << 30),
           .help = "source tokens times beam that are decoded at a time, on each thread of a CPU"}),
      ROFORMER_KEY(decoding.alignment_layer,
                   {.unit = "layer",
                    .range = between(0, 1000),
                    .help = "decoder layer, counted from 1, whose attention to the source "
                            "`translate --alignment` reads; 0: the last"}),
      ROFORMER_KEY(decoding.sentences,
                   {.unit = "sentences",
                    .range = at_least(0),
                    .help = "sentences of the validation set that a validation decodes; 0: all",
                    .decides = Decides::figures}),
      ROFORMER_KEY(decoding.prompt_start,
                   {.help = "what `generate` puts before a prompt: the separator, as documents "
                            "begin in training, the classification token (<s>, [CLS]), or nothing. "
                            "An imported model's is its tokenizer's",
                    .tasks = {TaskKind::causal_lm}}),
      ROFORMER_KEY(decoding.end_tokens,
                   {.unit = "ids",
                    .range = at_least(0),
                    .help = "tokens with which a text of `generate` ends; empty: the separator, as "
                            "documents end in training. An imported model's are those of its "
                            "generation_config.json or config.json",
                    .tasks = {TaskKind::causal_lm}}),
  };
  for (Key& key : keys) {
    const bool searches = key.name.starts_with("decoding.") && key.decides == Decides::run;
    if (searches) key.decides = Decides::nothing;  // no training depends on it
  }
  return keys;
}

std::string_view by_translation_ranking(const Settings& settings) {
  return Words<TranslationRanking>::texts[static_cast<std::size_t>(settings.translation.ranked_by)];
}

std::vector<TaskFigure> translation_figures(const Settings&) {
  return {
      {"loss", "validation_loss"},  {"bleu", "bleu"},         {"chrf", "chrf"},
      {"perplexity", "perplexity"}, {"accuracy", "accuracy"}, {"smoothed_loss", "smoothed_loss"}};
}

}  // namespace

TaskFacts translation_facts() {
  return {.task = TaskKind::translation,
          .name = "translation",
          .title = "translator",
          .has_decoder = true,
          .data = TaskData::parallel_text,
          .data_hint =
              "make a parallel data set with `roformer data prepare`, then "
              "--data.directory FOLDER",
          .exported = ExportForm::translator,
          .keys_after_model = translation_keys,
          .figures = translation_figures,
          .ranked_by = by_translation_ranking,
          .metrics = {{.name = "bleu", .title = "BLEU", .digits = 2, .higher_is_better = true},
                      {.name = "chrf", .title = "chrF", .digits = 2, .higher_is_better = true}},
          .columns = {"bleu", "chrf", "perplexity", "tokens_per_second"}};
}

}  // namespace roformer
