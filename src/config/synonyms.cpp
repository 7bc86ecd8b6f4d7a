#include "config/synonyms.h"

#include <algorithm>

#include "config/position_facts.h"

namespace roformer {
namespace {

constexpr Synonym kSynonyms[] = {
    // The arguments of transformers' Trainer and of its example scripts
    {"output_dir", "runs"},
    {"run_name", "run"},
    {"logging_dir", "runs"},
    {"model_name_or_path", "model.from"},
    {"model_name", "model.from"},
    {"pretrained", "model.from"},
    {"init_from", "model.from"},
    {"tokenizer_name", "tokenizer.file"},
    {"tokenizer_path", "tokenizer.file"},
    {"do_lower_case", "tokenizer.cased", "false"},
    {"per_device_train_batch_size", "training.batch"},
    {"per_gpu_train_batch_size", "training.batch"},
    {"train_batch_size", "training.batch"},
    {"batch_size", "training.batch"},
    {"micro_batch_size", "training.batch"},
    {"bs", "training.batch"},
    {"max_tokens", "training.batch_tokens"},
    {"mini_batch_words", "training.batch_tokens"},
    {"gradient_accumulation_steps", "training.accumulation"},
    {"gradient_accumulation", "training.accumulation"},
    {"grad_accumulation", "training.accumulation"},
    {"grad_accum", "training.accumulation"},
    {"accumulate_grad_batches", "training.accumulation"},
    {"update_freq", "training.accumulation"},
    {"num_train_epochs", "training.steps", "3e (epochs)"},
    {"num_epochs", "training.steps", "3e (epochs)"},
    {"max_epochs", "training.steps", "3e (epochs)"},
    {"epochs", "training.steps", "3e (epochs)"},
    {"max_steps", "training.steps"},
    {"max_iters", "training.steps"},
    {"num_steps", "training.steps"},
    {"total_steps", "training.steps"},
    {"train_steps", "training.steps"},
    {"max_train_steps", "training.steps"},
    {"lr", "training.learning_rate"},
    {"max_lr", "training.learning_rate"},
    {"min_lr", "training.final_learning_rate"},
    {"lr_scheduler", "training.schedule"},
    {"lr_scheduler_type", "training.schedule"},
    {"scheduler", "training.schedule"},
    {"warmup_steps", "training.warmup"},
    {"num_warmup_steps", "training.warmup"},
    {"warmup_iters", "training.warmup"},
    {"optim", "training.optimizer"},
    {"optimiser", "training.optimizer"},
    {"adam_beta1", "training.beta1"},
    {"adam_beta2", "training.beta2"},
    {"adam_epsilon", "training.epsilon"},
    {"adam", "adamw"},
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw"},
    {"sgd", "adamw"},
    {"max_grad_norm", "training.clip"},
    {"grad_clip", "training.clip"},
    {"clip_norm", "training.clip"},
    {"gradient_clip_val", "training.clip"},
    {"wd", "training.weight_decay"},
    {"llrd", "training.layer_decay"},
    {"ema_decay", "training.ema"},
    {"logging_steps", "training.log_every"},
    {"log_interval", "training.log_every"},
    {"disp_freq", "training.log_every"},
    {"eval_steps", "training.validate_every"},
    {"eval_interval", "training.validate_every"},
    {"eval_strategy", "training.validate_every"},
    {"evaluation_strategy", "training.validate_every"},
    {"valid_freq", "training.validate_every"},
    {"save_steps", "training.save_every"},
    {"save_freq", "training.save_every"},
    {"save_interval", "training.save_every"},
    {"save_strategy", "training.save_every"},
    {"save_total_limit", "training.keep_last"},
    {"early_stopping_patience", "training.patience"},
    {"early_stopping", "training.patience"},
    {"fp16", "training.precision", "bf16"},
    {"bf16", "training.precision", "bf16"},
    {"mixed_precision", "training.precision", "bf16"},
    {"amp", "training.precision", "bf16"},
    {"torch_dtype", "training.precision"},
    {"dtype", "training.precision"},
    {"gradient_checkpointing", "training.recompute", "layer"},
    {"activation_checkpointing", "training.recompute", "layer"},
    {"torch_compile", "training.graphs"},
    {"resume_from_checkpoint", "resume"},
    {"overwrite_output_dir", "overwrite"},
    {"label_smoothing_factor", "translation.label_smoothing"},
    {"bfloat16", "bf16"},
    {"half", "bf16"},
    {"float16", "bf16"},
    {"float32", "fp32"},
    {"float", "fp32"},
    {"cosine_with_warmup", "cosine"},
    {"linear_with_warmup", "linear"},
    {"constant_with_warmup", "constant"},
    {"inverse_sqrt", "inverse_square_root"},
    {"noam", "inverse_square_root"},
    {"warmup_stable_decay", "wsd"},
    {"gpu", "cuda"},
    {"no_cuda", "device", "cpu"},
    {"use_cpu", "device", "cpu"},
    {"random_seed", "seed"},
    {"num_threads", "threads"},
    {"omp_num_threads", "threads"},
    // Data
    {"train_file", "data.train"},
    {"train_data", "data.train"},
    {"validation_file", "data.validation"},
    {"valid_file", "data.validation"},
    {"eval_file", "data.validation"},
    {"data", "data.directory"},
    {"data_dir", "data.directory"},
    {"dataset", "data.directory"},
    {"dataset_name", "data.directory"},
    {"max_length", "data.length"},
    {"max_len", "data.length"},
    {"max_seq_length", "data.length"},
    {"max_sequence_length", "data.length"},
    {"max_position_embeddings", "data.length"},
    {"seq_len", "data.length"},
    {"seq_length", "data.length"},
    {"sequence_length", "data.length"},
    {"context_length", "data.length"},
    {"block_size", "data.length"},
    {"mlm_probability", "data.masking.probability"},
    {"masking_probability", "data.masking.probability"},
    {"whole_word_mask", "data.masking.whole_words"},
    {"validation_split_percentage", "data.validation_fraction"},
    {"workers", "data.loader_threads"},
    {"num_workers", "data.loader_threads"},
    {"dataloader_num_workers", "data.loader_threads"},
    {"num_labels", "classification.classes"},
    {"label_column_name", "classification.label"},
    {"text_column_name", "classification.text"},
    // Fields of config.json
    {"hidden_size", "model.width"},
    {"d_model", "model.width"},
    {"dim", "model.width"},
    {"n_embd", "model.width"},
    {"embed_dim", "model.width"},
    {"embedding_size", "model.embedding_width"},
    {"num_hidden_layers", "model.layers"},
    {"num_layers", "model.layers"},
    {"n_layers", "model.layers"},
    {"n_layer", "model.layers"},
    {"depth", "model.layers"},
    {"encoder_layers", "model.layers"},
    {"decoder_layers", "translation.decoder_layers"},
    {"num_attention_heads", "model.heads"},
    {"num_heads", "model.heads"},
    {"n_heads", "model.heads"},
    {"n_head", "model.heads"},
    {"head_dim", "model.head_width"},
    {"num_key_value_heads", "model.key_value_heads"},
    {"n_kv_heads", "model.key_value_heads"},
    {"intermediate_size", "model.feed_forward"},
    {"d_ff", "model.feed_forward"},
    {"ffn_dim", "model.feed_forward"},
    {"hidden_act", "model.activation"},
    {"silu", "swish"},
    {"gelu_new", "gelu_tanh"},
    {"hidden_dropout_prob", "model.dropout"},
    {"attention_probs_dropout_prob", "attention.dropout"},
    {"attention_dropout", "attention.dropout"},
    {"classifier_dropout", "classification.head_dropout"},
    {"layer_norm_eps", "model.norm_epsilon"},
    {"rms_norm_eps", "model.norm_epsilon"},
    {"rmsnorm", "rms_norm"},
    {"layernorm", "layer_norm"},
    {"pre_norm", "model.norm", "pre"},
    {"prenorm", "pre"},
    {"postnorm", "post"},
    {"initializer_range", "model.initialization"},
    {"type_vocab_size", "model.token_types"},
    {"vocab_size", "model.vocabulary"},
    {"tie_word_embeddings", "model.tie_output"},
    {"model_type", "model.family"},
    {"sliding_window", "attention.window"},
    {"position_embedding_type", "position"},
    {"positional_encoding", "position"},
    {"pos_emb", "position"},
    {"theta", "position.base"},
    {"rope_theta", "position.base"},
    {"rope_scaling", "position.scaling"},
    {"relative_attention_num_buckets", "position.buckets"},
    // Generation
    {"num_beams", "decoding.beam"},
    {"beam_size", "decoding.beam"},
    {"no_repeat_ngram_size", "decoding.no_repeat_ngram"},
    {"max_new_tokens", "tokens"},
    {"num_return_sequences", "samples"},
    // Tasks
    {"clm", "causal_lm"},
    {"gpt", "causal_lm"},
    {"lm", "causal_lm"},
    {"language_modeling", "causal_lm"},
    {"text_generation", "causal_lm"},
    {"bert", "mlm"},
    {"masked_lm", "mlm"},
    {"fill_mask", "mlm"},
    {"ner", "tagging"},
    {"pos_tagging", "tagging"},
    {"token_classification", "tagging"},
    {"sequence_labeling", "tagging"},
    {"text_classification", "classification"},
    {"sequence_classification", "classification"},
    {"sentiment", "classification"},
    {"sentiment_analysis", "classification"},
    {"regression", "classification"},
    {"nli", "classification"},
    {"sentence_similarity", "embedding"},
    {"sentence_embedding", "embedding"},
    {"feature_extraction", "embedding"},
    {"sts", "embedding"},
    {"seq2seq", "translation"},
    {"mt", "translation"},
    {"summarization", "translation"},
    {"summarisation", "translation"},
};

bool has_word(std::string_view words, std::string_view word) {
  std::size_t begin = 0;
  while (begin < words.size()) {
    const std::size_t end = std::min(words.find(' ', begin), words.size());
    if (words.substr(begin, end - begin) == word) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::span<const Synonym> synonyms() {
  return kSynonyms;
}

std::vector<Synonym> meanings_of(std::string_view word) {
  std::vector<Synonym> meanings;
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word == word) meanings.push_back(synonym);
  }
  for (const PositionFacts& facts : position_facts()) {
    if (!has_word(facts.also_called, word)) continue;
    meanings.push_back({.word = word, .meant = facts.name});
  }
  return meanings;
}

std::vector<std::string_view> other_names_of(std::string_view meant) {
  std::vector<std::string_view> names;
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.meant == meant) names.push_back(synonym.word);
  }
  return names;
}

}  // namespace roformer
