// What several families of encoders share: BERT's layout of layers and heads (RoFormer and NEZHA
// have it, too), and the fields of config.json that every encoder has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interop/family.h"

namespace roformer {

// BERT's weights; which tables of the embedding there are, the settings say.
WeightGroup bert_body();
WeightGroup bert_language_head();
WeightGroup bert_pooler();  // the dense layer on [CLS] that its classification head needs

struct EncoderDefaults {
  std::int64_t vocabulary = 0, layers = 12, feed_forward = 3072, positions = 512;
  std::int64_t most_positions = 1 << 20;
};
// The fields that every encoder has, those of its family, and the names of its classes.
std::vector<ConfigField> encoder_fields(const EncoderDefaults& defaults, ConfigField tie,
                                        std::vector<ConfigField> own);
// BERT's names of what RoFormer and NEZHA have as well.
std::vector<ConfigField> bert_fields(const EncoderDefaults& defaults, std::vector<ConfigField> own);
// glue.head_dropout; `standard` of -1: model.dropout. Written for classifiers only.
ConfigField classifier_dropout(double standard);

// Throws Error (failure) for a decoder and for positions that are not the family's.
void refuse_decoders(const JsonFields& fields);
// architectures, id2label and finetuning_task.
void read_classes(const JsonFields& fields, FolderConfig& config);
// All of the above around the table of a family with BERT's layers.
void parse_bert_like(const Family& family, const JsonFields& fields, FolderConfig& config);
void require_even_heads(const JsonFields& fields, const ModelSettings& model);

// What a model must be to have BERT's layers and heads.
void expect_bert_layers(const Settings& settings, Wishes& wishes);
// A classifier's head, and that it reads the first token's state; `title`: "BERT".
void expect_head(const Settings& settings, ClassifierHead head, const std::string& title,
                 Wishes& wishes);

}  // namespace roformer
