// A translator step by step against its whole text at once, through all that a beam search does to
// the rows.
#include "model/encoder_decoder.h"

#include <ATen/ATen.h>

#include "catch.h"
#include "config/position_facts.h"
#include "model/small_translator.h"

using namespace roformer;

namespace {

// Texts that grow, are moved, doubled and dropped, in the model and on paper.
struct Search {
  const SmallTranslator& small;
  const Sentences& source;
  TranslationStep step{*small.model, source.ids, source.layout};
  std::vector<std::size_t> sentences;  // of the rows
  at::Tensor texts;                    // [B, L]
  double worst = 0;

  Search(const SmallTranslator& translator, const Sentences& sentences_of)
      : small(translator), source(sentences_of) {
    for (std::size_t i = 0; i < source.lengths.size(); ++i) sentences.push_back(i);
  }

  // The logits after row `row`, from the whole text alone.
  at::Tensor expected(std::size_t row) const {
    const std::size_t sentence = sentences[row];
    const at::Tensor text = texts[static_cast<std::int64_t>(row)];
    const at::Tensor states =
        small.model->forward({.source_ids = source[sentence],
                              .source = TokenLayout::uniform(1, source.lengths[sentence]),
                              .target_ids = text,
                              .target = TokenLayout::uniform(1, text.size(0))},
                             {});
    return small.model->logits(states.narrow(0, text.size(0) - 1, 1))[0];
  }
  void append(std::int64_t length) {
    const auto rows = static_cast<std::int64_t>(sentences.size());
    const at::Tensor added = at::randint(SmallTranslator::kVocabulary, {rows, length}, at::kLong);
    texts = texts.defined() ? at::cat({texts, added}, 1) : added;
    const at::Tensor logits = step.append(added);
    REQUIRE(logits.sizes() == at::IntArrayRef({rows, SmallTranslator::kVocabulary}));
    for (std::size_t row = 0; row < sentences.size(); ++row) {
      const at::Tensor difference = logits[static_cast<std::int64_t>(row)] - expected(row);
      worst = std::max(worst, difference.abs().max().item<double>());
    }
  }
  void reorder(const std::vector<std::int64_t>& rows) {
    std::vector<std::size_t> next;
    for (const std::int64_t row : rows) next.push_back(sentences[static_cast<std::size_t>(row)]);
    sentences = next;
    texts = texts.index_select(0, at::tensor(rows, at::kLong));
    step.reorder(rows);
  }
};

double difference(const SmallTranslator& small) {
  at::manual_seed(9);
  const Sentences source({7, 3, 9});
  Search search(small, source);
  search.append(1);
  search.reorder({0, 0, 1, 1, 2, 2});
  search.append(1);
  search.append(2);
  search.reorder({1, 0, 2, 3, 5, 5});
  search.append(1);
  search.reorder({0, 1, 4, 5});  // the second sentence is done
  search.append(1);
  search.reorder({3, 0, 1});
  search.append(3);
  return search.worst;
}

}  // namespace

TEST_CASE("a step of a translator equals its whole text, for every scheme") {
  for (const std::string& name : position_names()) {
    if (find_position_facts(name)->causal_only) continue;
    DYNAMIC_SECTION(name) {
      CHECK(difference(SmallTranslator(name)) < 1e-10);
    }
  }
}

TEST_CASE("so do pre-norm, windows, linear attention and rotated memories") {
  const auto with = [](const std::function<void(EncoderDecoderSettings&)>& change) {
    return difference(SmallTranslator("rope", change));
  };
  CHECK(with([](EncoderDecoderSettings& settings) {
          settings.decoder.model.norm = settings.encoder.model.norm = NormPlacement::pre;
        }) < 1e-10);
  CHECK(with([](EncoderDecoderSettings& settings) { settings.decoder.attention.window = 3; }) <
        1e-10);
  CHECK(with([](EncoderDecoderSettings& settings) {
          settings.decoder.attention.kernel = AttentionKernel::elu;
        }) < 1e-10);
  CHECK(with([](EncoderDecoderSettings& settings) {
          settings.decoder.cross_position.scheme = "rope";
        }) < 1e-10);
}

TEST_CASE(
    "a step equals the whole text for mixed pairs of schemes, with and without rotated memories") {
  for (const std::string& name : position_names()) {
    for (const bool in_decoder : {true, false}) {
      if (!in_decoder && find_position_facts(name)->causal_only) continue;
      DYNAMIC_SECTION(name << (in_decoder ? " in the decoder" : " in the encoder")) {
        // The other stack has a scheme of another kind: rotations, or a bias.
        const std::string other = find_position_facts(name)->rotary ? "t5" : "rope";
        const auto with = [&](const std::string& cross) {
          return difference(SmallTranslator(other, [&](EncoderDecoderSettings& settings) {
            PositionSettings& chosen =
                in_decoder ? settings.decoder.position : settings.encoder.position;
            chosen.scheme = name;
            fit_to(chosen, {.length = 64});
            settings.decoder.cross_position.scheme = cross;
          }));
        };
        CHECK(with("none") < 1e-10);
        CHECK(with("rope") < 1e-10);
      }
    }
  }
}
