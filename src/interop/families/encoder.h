// Parts that several families of encoders share: BERT's layout of layers and heads, which RoFormer,
// NEZHA, RoBERTa and ELECTRA also have, and the fields of config.json that every encoder has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interop/family.h"

namespace roformer {

// BERT's weights. The settings decide which tables the embedding has. `position_rows`: those of
// the table of positions.
WeightGroup bert_body(Size position_rows = Size::positions);
WeightGroup bert_language_head();
WeightGroup bert_pooler();  // the dense layer on [CLS] that its classification head needs

// A language head's last layer: NAME.weight, which may be the table of tokens, and the two names of
// its bias. `decoder.bias` is computed with; transformers 5 stores it only in an untied model.
struct HeadNames {
  std::string_view bias, decoder_bias, decoder;
};
// Appends the last layer to a group with the layers before it.
WeightGroup with_decoder(std::vector<WeightRow> before, const HeadNames& names, Size features);

struct EncoderNames {
  const char* width = "hidden_size";
  const char* layers = "num_hidden_layers";
  const char* heads = "num_attention_heads";
  const char* feed_forward = "intermediate_size";
};
struct EncoderDefaults {
  std::int64_t vocabulary = 0, layers = 12, feed_forward = 3072, positions = 512;
  std::int64_t most_positions = 1 << 20;
  std::int64_t width = 768, heads = 12;
  EncoderNames names = {};
};
// The fields that every encoder has, the family's own fields and the names of its classes.
std::vector<ConfigField> encoder_fields(const EncoderDefaults& defaults, ConfigField tie,
                                        const std::vector<ConfigField>& own);
// The fields under the names that BERT, RoFormer, NEZHA, RoBERTa and ELECTRA share.
std::vector<ConfigField> bert_fields(const EncoderDefaults& defaults,
                                     const std::vector<ConfigField>& own);
// tie_word_embeddings, true if it is missing.
ConfigField tied_head();
// embedding_size, model.embedding_width; a `standard` of 0 means the width.
ConfigField embedding_size(std::int64_t standard);
// glue.head_dropout; a `standard` of -1 means model.dropout. Exports write it for classifiers only.
ConfigField classifier_dropout(double standard, std::string name = "classifier_dropout");

// Throws Error (failure) for a decoder.
void refuse_decoders(const JsonFields& fields);
// Throws Error (failure) for other positions than those of a table.
void require_absolute_positions(const JsonFields& fields);
// Throws Error (failure) for another activation than gelu, which the head of `title` always has.
void require_gelu(const JsonFields& fields, const ModelSettings& model, const std::string& title);
// Reads architectures, id2label and finetuning_task.
void read_classes(const JsonFields& fields, FolderConfig& config);
// Parses the config.json of a family with BERT's layers: refuses decoders, reads the table of
// fields and the classes.
void parse_bert_like(const JsonFields& fields, FolderConfig& config,
                     const EncoderNames& names = {});
// Gives the model a table of data.length positions.
void learn_positions(Settings& settings);
void require_even_heads(const JsonFields& fields, const ModelSettings& model);

// Expects what is the same in BERT, RoBERTa, DistilBERT and ELECTRA: a table of positions, BERT's
// layers and this classification head. Without `narrow` the embedding is as wide as the layers.
struct TableEncoder {
  ClassifierHead head = ClassifierHead::bert;
  std::string title;  // "BERT"
  bool narrow = false;
};
void expect_table_encoder(const Settings& settings, const TableEncoder& encoder, Wishes& wishes);
// Expects gelu, which the language head of `title` always has.
void expect_gelu(const Settings& settings, const std::string& title, Wishes& wishes);
// Expects BERT's layers and heads.
void expect_bert_layers(const Settings& settings, Wishes& wishes);
// Expects this head of a classifier, reading the first token's state; `title`: "BERT".
void expect_head(const Settings& settings, ClassifierHead head, const std::string& title,
                 Wishes& wishes);

}  // namespace roformer
