// NEZHA (Wei 2019): Shaw's form with one fixed sinusoidal table of the clipped distance, which
// keys, values and all layers share. It has no parameters. Section 16, item 17.
#include "config/schemes/nezha.h"
#include "config/schemes/sinusoidal.h"
#include "position/shaw.h"
#include "position/sinusoidal.h"

namespace roformer {
namespace {

class Nezha : public RelativeVectors {
 public:
  explicit Nezha(const SchemeInputs& in)
      : RelativeVectors(in.settings.of<NezhaSettings>().clip,
                        in.settings.of<NezhaSettings>().clip) {
    const NezhaSettings& settings = in.settings.of<NezhaSettings>();
    const at::Tensor table =
        sinusoid_table(Positions::range(0, 2 * settings.clip + 1), in.shape.head_width,
                       settings.base, SinusoidalLayout::interleaved)
            .to(in.shape.type);
    tables_.assign(static_cast<std::size_t>(in.shape.layers), {.key = table, .value = table});
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_nezha(const SchemeInputs& inputs) {
  return std::make_unique<Nezha>(inputs);
}

}  // namespace roformer
