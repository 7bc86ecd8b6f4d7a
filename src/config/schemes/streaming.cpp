#include "config/schemes/streaming.h"

#include "config/schemes/check.h"
#include "config/schemes/options.h"

namespace roformer {
namespace {

std::vector<Key> streaming_options(const SchemeSection& section) {
  return {
      ROFORMER_OPTION(StreamingSettings, layout, rotary_layout("the released code has half")),
      ROFORMER_OPTION(StreamingSettings, base, wavelength_base()),
      ROFORMER_OPTION(StreamingSettings, sinks,
                      {.unit = "tokens",
                       .range = between(0, kLongest),
                       .help = "first tokens that stay visible (Xiao 2024: 4; LM-Infinite: 10 to "
                               "100)"}),
      ROFORMER_OPTION(StreamingSettings, recent,
                      {.unit = "tokens",
                       .range = between(1, kLongest),
                       .help = "last tokens that stay visible, the token itself among them (Xiao "
                               "2024: 2000)"}),
      ROFORMER_OPTION(StreamingSettings, distance,
                      {.help = "of the first tokens: slots counts what is left (StreamingLLM), "
                               "clipped ends at `recent` (LM-Infinite)"}),
      ROFORMER_OPTION(StreamingSettings, form,
                      {.help = "what the distances are for: rotations, or ALiBi's penalties"}),
  };
}

void check_streaming(const SchemeCheck& check) {
  if (check.options<StreamingSettings>().form == StreamingForm::rope) check_pairs_of_head(check);
}

}  // namespace

SchemeDefinition define_streaming() {
  return {.facts = {.name = "streaming",
                    .family = "rotary",
                    .causal_only = true,
                    .shift_invariant = false,  // the first tokens keep their places
                    .rotary = true,
                    .tried_on = "rope alibi",
                    .also_called = "streaming_llm streamingllm sinks attention_sinks",
                    .formula = "as rope or alibi among the first s and the last r tokens, numbered "
                               "without those between",
                    .cost = "a second score product for the first tokens, score matrix in memory",
                    .longer = "yes: of a model that was trained with rope or alibi",
                    .paper = "Xiao 2024, arXiv:2309.17453; Han 2024, arXiv:2308.16137"},
          .options = streaming_options,
          .check = check_streaming};
}

}  // namespace roformer
