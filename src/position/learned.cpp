// Learned absolute positions (BERT, Devlin 2019): a table with one row for each position, added to
// the embedding. Section 2. `hierarchical` reaches length^2 positions with the same table
// (bert4keras).

#include "config/schemes/learned.h"
#include "base/error.h"
#include "position/scheme.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

class Learned : public PositionScheme {
 public:
  explicit Learned(const SchemeInputs& in) : settings_(in.settings.of<LearnedSettings>()) {
    table_ = in.parameters.add({.name = "position.table",
                                .shape = {settings_.length, in.shape.width_of_embedding()},
                                .initial = truncated_normal(settings_.initialization)});
  }

  at::Tensor embedding(const Positions& positions) const override {
    const std::int64_t length = settings_.length;
    const std::int64_t limit = settings_.hierarchical ? length * length : length;
    if (positions.largest() >= limit) {
      throw_usage("position.learned.length",
                  "the table has " + std::to_string(limit) +
                      " positions, the text reaches position " +
                      std::to_string(positions.largest()),
                  "a longer table, or a shorter data.length");
    }
    const at::Tensor index = on_device(positions.tensor(), table_.device());
    if (!settings_.hierarchical) return at::index_select(table_, 0, index);
    const double alpha = settings_.hierarchical_alpha;
    const at::Tensor base = (table_ - alpha * table_.narrow(0, 0, 1)) / (1 - alpha);
    return alpha * at::index_select(base, 0, at::floor_divide(index, length)) +
           (1 - alpha) * at::index_select(base, 0, at::remainder(index, length));
  }

 private:
  LearnedSettings settings_;
  at::Tensor table_;  // [length, M]
};

}  // namespace

std::unique_ptr<PositionScheme> make_learned(const SchemeInputs& inputs) {
  return std::make_unique<Learned>(inputs);
}

}  // namespace roformer
