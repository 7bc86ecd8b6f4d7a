#include "interop/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "config/position_facts.h"
#include "config/schemes/learned.h"
#include "config/schemes/rope.h"
#include "config/schemes/shaw.h"
#include "config/schemes/sinusoidal.h"
#include "config/task_facts.h"
#include "interop/causal_tokenizer.h"
#include "interop/embedder_folder.h"
#include "interop/encoder_tokenizer.h"
#include "interop/expressible.h"
#include "interop/folder.h"
#include "interop/row_orders.h"
#include "interop/translator.h"
#include "tensor/aten.h"
#include "tensor/safetensors.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kTokens = "embedding.tokens.weight";

class Exporter {
 public:
  explicit Exporter(const ExportedModel& model)
      : model_(model),
        settings_(model.settings),
        family_(exported_family(settings_)),
        form_(task_facts(settings_.task).exported) {
    if (form_ == ExportForm::tagger) settings_.glue.head_dropout = settings_.tagging.head_dropout;
    const bool separate = translates() && !settings_.translation.tie_embeddings;
    const std::int64_t source =
        weight(separate ? "encoder.embedding.tokens.weight" : kTokens).size(0);
    const std::int64_t target =
        weight(separate ? "decoder.embedding.tokens.weight" : kTokens).size(0);
    rows_ = {.vocabulary = source, .target = target, .decoder_table = target};
    if (family_.pads_positions) rows_.of_padding = model.tokenizer.special().padding + 1;
    settings_.model.vocabulary = source;
    if (family_.kind == FamilyKind::causal) {
      keep_training_length(settings_.position, settings_.data.length);
    }
  }

  ExportSummary write(const fs::path& folder, bool overwrite) {
    const bool encodes = family_.kind == FamilyKind::encoder;
    summary_.architecture = family_.architecture(form_);
    add(family_.body);
    add_token_types();
    add_sinusoids();
    if (form_ == ExportForm::classifier || form_ == ExportForm::tagger) {
      if (form_ == ExportForm::classifier) add(family_.pooler);
      add(form_ == ExportForm::tagger ? family_.tagging_head : family_.classification_head);
      classes_ = tensors_.back().value.size(0);
    } else if (form_ != ExportForm::embedder) {
      add(family_.language_head);
    }
    add(family_.repeated);
    if (family_.output_bias) add_output_bias();
    if (encodes) note_differences();
    for (const auto& [name, tensor] : model_.tensors) ROFORMER_ASSERT(written_.contains(name));
    OutputFolder output(exported_folder(folder, overwrite));
    write_tokenizer(output.path());
    // transformers loads only files that have "format".
    write_safetensors(output.path() / "model.safetensors", tensors_, {{"format", "pt"}});
    const ExportedConfig config = this->config();
    write_json(output.path() / "config.json", write_fields(family_.fields, config));
    if (family_.generation != nullptr) {
      write_json(output.path() / "generation_config.json", family_.generation(config));
    }
    if (form_ == ExportForm::embedder) write_embedder_modules(settings_, output.path());
    Manifest::of(output.path()).write();
    output.commit();
    if (!encodes) note_differences();
    return std::move(summary_);
  }

 private:
  const ExportedModel& model_;
  Settings settings_;  // model.vocabulary is resolved
  const Family& family_;
  ExportForm form_;
  TableRows rows_;
  std::vector<NamedTensor> tensors_;
  std::set<std::string> written_;  // names of our parameters
  std::int64_t classes_ = 0;
  ExportSummary summary_;

  // A model without a head has no prefix before the names of its body.
  std::string stored_name(const WeightGroup& group, std::string_view canonical) const {
    return form_ == ExportForm::embedder ? std::string(canonical)
                                         : family_.stored_name(group, canonical);
  }

  bool translates() const { return family_.kind == FamilyKind::translator; }

  const at::Tensor& weight(const std::string& name) const {
    const auto found = model_.tensors.find(name);
    if (found == model_.tensors.end()) {
      throw_failure("export", "the model has no parameter \"" + name + "\"");
    }
    return found->second;
  }

  // The rotation of that layer; the defaults if it has none.
  RopeSettings rotation_of(std::int64_t layer) const {
    for (const SchemePart& part : scheme_parts(settings_.position, settings_.model.layers)) {
      if (std::ranges::find(part.layers, layer) == part.layers.end()) continue;
      return part.position.of<RopeSettings>();
    }
    return {};
  }

  // Reorders the rows into the folder's order: rotations of neighbours become rotations of halves,
  // the rows of one head become adjacent, alternating sines and cosines become all sines followed
  // by all cosines (the same model with a token's features in another order), and rows become
  // columns.
  at::Tensor in_their_order(const FolderWeight& weight, at::Tensor value) const {
    const ModelSettings& model = settings_.model;
    const Size rows = weight.shape.rows;
    if (family_.rotates_halves && weight.layer >= 0) {
      const RopeSettings rope = rotation_of(weight.layer);
      const std::int64_t head = model.features_of_head();
      const std::int64_t blocks = rows == Size::head    ? 1
                                  : rows == Size::heads ? model.heads + model.heads_of_keys()
                                  : rows == Size::three_heads || rows == Size::by_head
                                      ? 2 * model.heads
                                      : 0;
      if (rope.layout == RotaryLayout::interleaved && blocks > 0) {
        value = neighbours_to_halves(value, blocks, head, rotary_width(rope.fraction, head));
      }
    }
    value = roformer::in_their_order(
        value, {.rows = rows, .heads = model.heads, .of_padding = rows_.of_padding});
    const SinusoidalLayout layout = settings_.position.of<SinusoidalSettings>().layout;
    const bool sinusoids = translates() && settings_.position.scheme == "sinusoidal";
    if (sinusoids && layout != SinusoidalLayout::concat) {
      if (rows == Size::width) value = turns_to_halves(value, 0);
      if (weight.shape.columns == Size::width) value = turns_to_halves(value, 1);
    }
    return weight.shape.transposed ? value.t() : value;
  }

  void add(const WeightGroup& group) {
    for (const FolderWeight& names : expand_weights(group, settings_, rows_)) {
      at::Tensor value = in_their_order(names, weight(names.ours).to(at::kFloat)).contiguous();
      if (names.ours == kTokens && family_.table_factor != nullptr) {
        value = value / family_.table_factor(settings_);
      }
      std::int64_t row = 0;
      for (const FolderWeight::Part& part : names.parts) {
        const std::int64_t rows = part.shape[0] < 0 ? value.size(0) : part.shape[0];
        tensors_.push_back({.name = stored_name(group, part.theirs),
                            .value = padded(names, value.narrow(0, row, rows))});
        row += rows;
      }
      ROFORMER_ASSERT(row == value.size(0));
      written_.insert(names.ours);
    }
    for (const FolderWeight& idle : expand_idle(group, settings_, rows_)) {
      const FolderWeight::Part& part = idle.parts.front();
      tensors_.push_back({.name = stored_name(group, part.theirs),
                          .value = idle.ours.empty() ? at::zeros(part.shape, at::kFloat)
                                                     : weight(idle.ours).to(at::kFloat)});
    }
  }

  // transformers before 5 gives the decoder's table as many rows as the encoder's.
  std::int64_t longest_table() const { return std::max(rows_.vocabulary, rows_.target); }

  at::Tensor padded(const FolderWeight& names, const at::Tensor& value) const {
    const Size rows = names.shape.rows;
    const bool table =
        rows == Size::vocabulary || rows == Size::target || rows == Size::decoder_table;
    if (!table || value.size(0) == longest_table()) return value;
    return at::constant_pad_nd(value, {0, 0, 0, longest_table() - value.size(0)}, 0);
  }

  void add_output_bias() {
    at::Tensor bias = at::zeros({1, rows_.target}, at::kFloat);
    if (settings_.translation.output_bias) {
      bias = weight("output.bias").to(at::kFloat).reshape({1, -1});
      written_.insert("output.bias");
    }
    // A row without a piece must get no share of the probability. Half precision can hold this
    // number.
    constexpr double kNever = -30'000;
    tensors_.push_back(
        {.name = "final_logits_bias",
         .value = at::constant_pad_nd(bias, {0, longest_table() - rows_.target}, kNever)});
  }

  void note_differences() {
    if (family_.note != nullptr) family_.note(settings_, summary_.notes);
  }

  auto token_types() const {
    return std::ranges::find(family_.body.rows, Size::token_types,
                             [](const WeightRow& row) { return row.shape.rows; });
  }
  // Whether transformers' tokenizer gives types: not to a class that has none, or only one.
  bool has_token_types() const {
    return token_types() != family_.body.rows.end() && settings_.model.token_types != 1;
  }

  // transformers' BERT always adds a row for the token type; a row of zeros adds nothing.
  void add_token_types() {
    const auto types = token_types();
    if (types == family_.body.rows.end() || settings_.model.token_types > 0) return;
    if (family_.may_lack_token_types) return;
    tensors_.push_back(
        {.name = stored_name(family_.body, types->theirs),
         .value = at::zeros({kBertTokenTypes, weight(kTokens).size(1)}, at::kFloat)});
    summary_.notes.push_back("the model has no token types: their table is all zeros");
  }

  void add_sinusoids() {
    if (family_.kind != FamilyKind::encoder) return;  // transformers computes a translator's
    for (const std::string_view name : family_.sinusoids.names) {
      tensors_.push_back(
          {.name = stored_name(family_.body, name),
           .value = sines_and_cosines(positions(), settings_.model.features_of_head())});
    }
  }

  void write_tokenizer(const fs::path& folder) {
    const Tokenizer& tokenizer = model_.tokenizer;
    switch (family_.kind) {
      case FamilyKind::encoder:
        return write_encoder_tokenizer(tokenizer,
                                       {.longest = positions(), .token_types = has_token_types()},
                                       folder, summary_.notes);
      case FamilyKind::causal:
        return write_causal_tokenizer(tokenizer, settings_, family_.type, folder, summary_.notes);
      case FamilyKind::translator: {
        const auto write = family_.write_tokenizers != nullptr ? family_.write_tokenizers
                                                               : write_translator_tokenizers;
        return write({.source = *model_.source_tokenizer,
                      .target = tokenizer,
                      .separate = !settings_.translation.tie_embeddings},
                     positions(), folder, summary_.notes);
      }
    }
  }

  std::int64_t positions() const {
    const RopeSettings& rope = settings_.position.of<RopeSettings>();
    if (settings_.position.scheme == "learned") {
      return settings_.position.of<LearnedSettings>().length;
    }
    if (settings_.position.scheme == "shaw") return settings_.position.of<ShawSettings>().left + 1;
    if (family_.kind == FamilyKind::causal && rope.scaling == RopeScaling::dynamic_ntk) {
      return rope.original_length;
    }
    return std::max(family_.least_positions, settings_.data.length);
  }

  ExportedConfig config() const {
    const SpecialTokens& special = model_.tokenizer.special();
    ExportedConfig config{.settings = settings_,
                          .model_type = family_.type,
                          .architecture = summary_.architecture,
                          .positions = positions() + rows_.of_padding,
                          .padding = special.padding,
                          .classification = special.classification,
                          .separator = special.separator,
                          .ends = text_ends(model_.tokenizer, settings_.decoding.end_tokens),
                          .classes = classes_,
                          .labels = model_.labels,
                          .target_kind = model_.target_kind,
                          .rows = {.vocabulary = longest_table(), .target = longest_table()},
                          .tokens = {.padding = special.padding >= 0 ? special.padding : model_.end,
                                     .begin = model_.begin,
                                     .end = model_.end,
                                     .never = model_.never}};
    for (std::int64_t id = model_.tokenizer.vocabulary_size(); id < rows_.target; ++id) {
      config.tokens.never.push_back(id);
    }
    return config;
  }
};

bool holds_only_export(const fs::path& folder) {
  try {
    const std::optional<Manifest> manifest = Manifest::read(folder);
    return is_present(folder / kConfigFile) && manifest && manifest->describes_folder();
  } catch (const Error&) {  // a damaged manifest
    return false;
  }
}

}  // namespace

OutputFolder::Options exported_folder(const fs::path& folder, bool overwrite) {
  return {.output = folder,
          .overwrite = overwrite,
          .contents = "an export as roformer wrote it",
          .is_replaceable = holds_only_export};
}

ExportSummary write_hugging_face_folder(const ExportedModel& model, const fs::path& folder,
                                        bool overwrite) {
  return Exporter(model).write(folder, overwrite);
}

}  // namespace roformer
