// Parts that several families of encoders share: BERT's layout of layers and heads, which RoFormer
// and NEZHA also have, and the fields of config.json that every encoder has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interop/family.h"

namespace roformer {

// BERT's weights. The settings decide which tables the embedding has.
WeightGroup bert_body();
WeightGroup bert_language_head();
WeightGroup bert_pooler();  // the dense layer on [CLS] that its classification head needs

struct EncoderDefaults {
  std::int64_t vocabulary = 0, layers = 12, feed_forward = 3072, positions = 512;
  std::int64_t most_positions = 1 << 20;
};
// The fields that every encoder has, the family's own fields and the names of its classes.
std::vector<ConfigField> encoder_fields(const EncoderDefaults& defaults, ConfigField tie,
                                        std::vector<ConfigField> own);
// The fields under the names that BERT, RoFormer and NEZHA share.
std::vector<ConfigField> bert_fields(const EncoderDefaults& defaults, std::vector<ConfigField> own);
// glue.head_dropout; a `standard` of -1 means model.dropout. Exports write it for classifiers only.
ConfigField classifier_dropout(double standard);

// Throws Error (failure) for a decoder and for positions that the family does not have.
void refuse_decoders(const JsonFields& fields);
// Reads architectures, id2label and finetuning_task.
void read_classes(const JsonFields& fields, FolderConfig& config);
// Parses the config.json of a family with BERT's layers: refuses decoders, reads the table of
// fields and the classes.
void parse_bert_like(const Family& family, const JsonFields& fields, FolderConfig& config);
void require_even_heads(const JsonFields& fields, const ModelSettings& model);

// Expects BERT's layers and heads.
void expect_bert_layers(const Settings& settings, Wishes& wishes);
// Expects this head of a classifier, reading the first token's state; `title`: "BERT".
void expect_head(const Settings& settings, ClassifierHead head, const std::string& title,
                 Wishes& wishes);

}  // namespace roformer
