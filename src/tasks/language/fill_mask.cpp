#include "tasks/language/fill_mask.h"

#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "config/task_facts.h"
#include "model/sampling.h"
#include "tasks/untrained.h"
#include "tensor/aten.h"
#include "text/sentencepiece_model.h"

namespace roformer {
namespace {

// The parts of the text around the markers, one more than there are masks. White space that belongs
// to a mask is left out.
std::vector<std::string> split(std::string_view text, MaskSpaces spaces) {
  constexpr std::string_view kWhite = " \t\r\n\f\v";
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = text.find(kMaskMarker, begin);
    std::string_view part = text.substr(begin, end - begin);
    if (spaces.after && begin > 0) {
      part.remove_prefix(std::min(part.find_first_not_of(kWhite), part.size()));
    }
    if (spaces.before && end != std::string_view::npos) {
      part = part.substr(0, part.find_last_not_of(kWhite) + 1);
    }
    parts.emplace_back(part);
    if (end == std::string_view::npos) return parts;
    begin = end + kMaskMarker.size();
  }
}

struct MaskedText {
  std::vector<std::int64_t> ids;        // [CLS] text [SEP]
  std::vector<std::int64_t> positions;  // of the masks in them
};

MaskedText encode(const std::vector<std::string>& parts, const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  MaskedText result;
  if (special.classification >= 0) result.ids.push_back(special.classification);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      result.positions.push_back(static_cast<std::int64_t>(result.ids.size()));
      result.ids.push_back(special.mask);
    }
    for (const TokenId id : tokenizer.encode(parts[i])) result.ids.push_back(id);
  }
  if (special.separator >= 0) result.ids.push_back(special.separator);
  return result;
}

// Whether the piece continues the word before it. Bytes and characters include their spaces.
bool joins(const Tokenizer& tokenizer, TokenId id) {
  const bool has_words = tokenizer.kind() == TokenizerKind::sentencepiece ||
                         tokenizer.kind() == TokenizerKind::wordpiece;
  return has_words && !tokenizer.begins_word(id);
}

// The word as it is written in a text. A decoder drops a marked space from the first piece of a
// text, and a mask that takes the space before it leaves none.
std::string written(const Tokenizer& tokenizer, TokenId id, bool first) {
  const std::string word = tokenizer.decode(std::array{id});
  const bool marked = tokenizer.mask_spaces().before &&
                      tokenizer.piece(id).starts_with(kSpaceMarker) && !word.starts_with(' ');
  return marked && !first ? " " + word : word;
}

// The text with mask number `which` replaced. A piece that joins the word before it also replaces
// the space.
std::string filled(const std::vector<std::string>& parts, std::size_t which,
                   const std::string& word, bool joined) {
  std::string result = parts[0];
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (i != which) {
      result += kMaskMarker;
    } else {
      if (joined && result.ends_with(' ')) result.pop_back();
      result += word;
    }
    result += parts[i + 1];
  }
  return result;
}

}  // namespace

std::vector<std::vector<MaskPrediction>> fill_mask(const TrainedModel& trained,
                                                   std::string_view text, std::int64_t top) {
  const Tokenizer& tokenizer = *trained.tokenizer;
  const SpecialTokens& special = tokenizer.special();
  if (task_facts(trained.settings.task).causal || special.mask < 0) {
    throw_usage(trained.checkpoint.string(), "is not a masked language model",
                "a run with task mlm; `roformer generate` continues a text with a causal one");
  }
  const std::vector<std::string> parts = split(text, tokenizer.mask_spaces());
  const MaskedText masked = encode(parts, tokenizer);
  if (masked.positions.empty()) return {};
  const auto length = static_cast<std::int64_t>(masked.ids.size());
  require_positions(trained.settings, "text", length);

  const c10::AutoGradMode no_gradient(false);
  const at::Device device = trained.model->plan().device;
  const auto on_device = [&](const std::vector<std::int64_t>& values) {
    return at::tensor(values, at::kLong).to(device);
  };
  const at::Tensor logits = trained.model
                                ->logits(on_device(masked.ids), TokenLayout::uniform(1, length),
                                         on_device(masked.positions))
                                .to(at::kCPU, at::kFloat)
                                .contiguous();
  const std::int64_t width = logits.size(1);
  const float* const data = logits.const_data_ptr<float>();
  const std::array never{special.padding, special.unknown, special.classification,
                         special.separator, special.mask};

  std::vector<std::vector<MaskPrediction>> result;
  for (std::size_t mask = 0; mask < masked.positions.size(); ++mask) {
    const std::span row(data + static_cast<std::int64_t>(mask) * width,
                        static_cast<std::size_t>(width));
    std::vector<MaskPrediction>& predictions = result.emplace_back();
    const bool starts = mask == 0 && parts[0].empty();
    for (const Candidate& candidate : candidates(row, {})) {
      if (static_cast<std::int64_t>(predictions.size()) == top) break;
      const auto id = static_cast<TokenId>(candidate.id);
      if (id >= tokenizer.vocabulary_size() || std::ranges::find(never, id) != never.end())
        continue;
      const std::string word = tokenizer.decode(std::array{id});
      predictions.push_back(
          {.id = id,
           .piece = tokenizer.piece(id),
           .text = word,
           .probability = candidate.probability,
           .filled = filled(parts, mask, written(tokenizer, id, starts), joins(tokenizer, id))});
    }
  }
  return result;
}

}  // namespace roformer
