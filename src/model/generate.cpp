#include "model/generate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// A text that grows in a row of the model.
struct OpenText {
  std::size_t beginning = 0;
  std::size_t sample = 0;
  Random random;
};

at::Tensor ids_of(const std::vector<std::int64_t>& ids, std::int64_t rows) {
  return at::tensor(ids, at::kLong).view({rows, -1});
}

class Sampling {
 public:
  Sampling(const std::vector<SampledBeginning>& beginnings, const BeamVocabulary& vocabulary,
           const SampleSettings& settings)
      : beginnings_(beginnings), vocabulary_(vocabulary), settings_(settings) {
    for (const SampledBeginning& beginning : beginnings) {
      ROFORMER_ASSERT(!beginning.keys.empty());
      texts_.emplace_back(beginning.keys.size());
    }
  }

  std::vector<std::vector<Hypothesis>> run(StepModel& model) {
    if (beginnings_.empty()) return {};
    at::Tensor logits = begin(model);
    while (true) {
      const std::vector<std::int64_t> rows = choose(logits);
      if (rows.empty()) return std::move(texts_);
      if (std::ssize(rows) < logits.size(0)) model.reorder(rows);
      logits = on_cpu(model.append(ids_of(chosen_, std::ssize(rows))));
    }
  }

 private:
  const std::vector<SampledBeginning>& beginnings_;
  const BeamVocabulary& vocabulary_;
  const SampleSettings& settings_;
  std::vector<std::vector<Hypothesis>> texts_;
  std::vector<OpenText> open_;        // one a row
  std::vector<std::int64_t> chosen_;  // the last ids of the rows
  std::vector<float> choices_;        // of one row
  std::vector<std::int64_t> excluded_;

  static at::Tensor on_cpu(const at::Tensor& logits) {
    return logits.to(at::kCPU, at::kFloat).contiguous();
  }

  // The logits after the beginnings, a row for each sample.
  at::Tensor begin(StepModel& model) {
    std::vector<std::int64_t> ids, rows;
    for (std::size_t i = 0; i < beginnings_.size(); ++i) {
      const SampledBeginning& beginning = beginnings_[i];
      ROFORMER_ASSERT(beginning.text.longest > std::ssize(beginning.text.prefix));
      ids.insert(ids.end(), beginning.text.begin.begin(), beginning.text.begin.end());
      for (std::size_t k = 0; k < beginning.keys.size(); ++k) {
        open_.push_back({.beginning = i, .sample = k, .random = Random(beginning.keys[k])});
        rows.push_back(static_cast<std::int64_t>(i));
      }
    }
    at::Tensor logits = on_cpu(model.append(ids_of(ids, std::ssize(beginnings_))));
    if (rows.size() == beginnings_.size()) return logits;
    model.reorder(rows);
    return at::index_select(logits, 0, at::tensor(rows, at::kLong));
  }

  // Adds a token to every row. Returns the rows that continue, with their ids in chosen_.
  std::vector<std::int64_t> choose(const at::Tensor& logits) {
    const at::Tensor normalizers = at::logsumexp(logits, 1);
    const auto width = static_cast<std::size_t>(logits.size(1));
    std::vector<std::int64_t> rows;
    std::vector<OpenText> open;
    chosen_.clear();
    for (std::size_t row = 0; row < open_.size(); ++row) {
      OpenText& text = open_[row];
      Hypothesis& grown = texts_[text.beginning][text.sample];
      const float* const values = logits.const_data_ptr<float>() + row * width;
      const std::int64_t id = next({values, width}, text);
      const double step = static_cast<double>(values[id]) -
                          normalizers.const_data_ptr<float>()[static_cast<std::int64_t>(row)];
      grown.token_log_probabilities.push_back(step);
      grown.log_probability += step;
      grown.score = grown.log_probability;
      if (ends(id)) continue;
      grown.ids.push_back(id);
      const bool goes_on =
          !settings_.on_token || settings_.on_token(static_cast<std::int64_t>(text.beginning),
                                                    static_cast<std::int64_t>(text.sample), id);
      if (!goes_on) continue;
      if (std::ssize(grown.ids) == beginnings_[text.beginning].text.longest) continue;
      chosen_.push_back(id);
      rows.push_back(static_cast<std::int64_t>(row));
      open.push_back(text);
    }
    open_ = std::move(open);
    return rows;
  }

  bool ends(std::int64_t id) const {
    return id == vocabulary_.end ||
           std::ranges::find(settings_.other_ends, id) != settings_.other_ends.end();
  }

  std::int64_t next(std::span<const float> logits, OpenText& text) {
    const BeamSentence& limits = beginnings_[text.beginning].text;
    const std::size_t length = texts_[text.beginning][text.sample].ids.size();
    if (length < limits.prefix.size()) return limits.prefix[length];
    const bool last = static_cast<std::int64_t>(length) + 1 >= limits.longest;
    if (last && settings_.always_ends && vocabulary_.end >= 0) return vocabulary_.end;
    if (length == 0 && vocabulary_.first >= 0) return vocabulary_.first;
    choices_.assign(logits.begin(), logits.end());
    if (vocabulary_.rules.any()) {
      std::vector<std::int64_t> so_far = limits.begin;
      const std::vector<std::int64_t>& grown = texts_[text.beginning][text.sample].ids;
      so_far.insert(so_far.end(), grown.begin(), grown.end());
      apply_rules(vocabulary_.rules, so_far, choices_);
    }
    if (excluded_.empty()) excluded_ = excluded_ids(vocabulary_, std::ssize(choices_));
    for (const std::int64_t id : excluded_) {
      choices_[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
    return pick(candidates(choices_, settings_.choice), text.random.uniform());
  }
};

}  // namespace

std::vector<std::vector<Hypothesis>> sample_texts(StepModel& model,
                                                  const std::vector<SampledBeginning>& beginnings,
                                                  const BeamVocabulary& vocabulary,
                                                  const SampleSettings& settings) {
  return Sampling(beginnings, vocabulary, settings).run(model);
}

std::vector<std::vector<std::int64_t>> generate(StepModel& model,
                                                const std::vector<std::int64_t>& prompt,
                                                const GenerationOptions& options) {
  ROFORMER_ASSERT(!prompt.empty() && options.samples > 0);
  SampledBeginning beginning{.text = {.begin = prompt, .longest = options.tokens}};
  for (std::int64_t i = 0; i < options.samples; ++i) {
    const auto number = static_cast<std::uint64_t>(options.first_sample + i);
    beginning.keys.push_back(random_key({options.seed, number}));
  }
  SampleSettings settings{
      .choice = options.sampling, .always_ends = false, .other_ends = options.ends};
  if (options.on_token) {
    settings.on_token = [&](std::int64_t, std::int64_t sample, std::int64_t id) {
      return options.on_token(sample, id);
    };
  }
  std::vector<std::vector<std::int64_t>> texts;
  auto samples = sample_texts(model, {beginning},
                              {.excluded = options.excluded, .size = options.vocabulary}, settings);
  for (Hypothesis& sample : samples[0]) {
    texts.push_back(std::move(sample.ids));
  }
  return texts;
}

}  // namespace roformer
