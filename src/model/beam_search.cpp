#include "model/beam_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/operations.h"

namespace roformer {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// A step of one text, linked to the one before it: hypotheses share what they have in common.
struct Step {
  std::int64_t previous = -1;  // index of a step; -1: none
  std::int64_t id = 0;
  double log_probability = 0;
};

struct OpenHypothesis {
  std::int64_t last = -1;  // its last step
  double log_probability = 0;
  std::int64_t row = 0;  // of the model
};

struct FinishedHypothesis {
  std::int64_t last = -1;
  double log_probability = 0;
  double score = 0;
};

struct Sentence {
  std::int64_t number = 0;  // among those asked for
  std::vector<OpenHypothesis> open;
  std::vector<FinishedHypothesis> finished;  // best first, as many as the search compares with
};

// The most probable next ids of each row and their log probabilities.
struct Followers {
  std::int64_t width = 0;
  at::Tensor ids, log_probabilities;  // [R, width] int64 and float, on the CPU
  at::Tensor logits, normalizers;     // [R, V] and [R], float, on the CPU
  // Excluded ids have no logits in `logits`, but a given prefix may contain them.
  std::vector<std::int64_t> excluded;
  at::Tensor excluded_logits;  // [R, excluded]

  std::int64_t id(std::int64_t row, std::int64_t rank) const {
    return ids.const_data_ptr<std::int64_t>()[row * width + rank];
  }
  double log_probability(std::int64_t row, std::int64_t rank) const {
    return log_probabilities.const_data_ptr<float>()[row * width + rank];
  }
  // For any id.
  double log_probability_of(std::int64_t row, std::int64_t id) const {
    const auto found = std::ranges::find(excluded, id);
    const float logit =
        found == excluded.end()
            ? logits.const_data_ptr<float>()[row * logits.size(1) + id]
            : excluded_logits
                  .const_data_ptr<float>()[row * std::ssize(excluded) + (found - excluded.begin())];
    return static_cast<double>(logit) - normalizers.const_data_ptr<float>()[row];
  }
};

struct FollowersRequest {
  std::int64_t wanted = 1;
  bool given = false;  // some text's next id is given, which may be an excluded one
  // Applies the vocabulary's rules to the scores [R, V]; none where it has no rules. They are the
  // log probabilities, or logits where only the first of the followers counts: so transformers'
  // beam search and greedy search have it, and a penalty tells the two apart.
  std::function<void(at::Tensor& scores)> apply_rules = {};
  bool of_logits = false;
};

}  // namespace

std::vector<std::int64_t> excluded_ids(const BeamVocabulary& vocabulary, std::int64_t rows) {
  const std::int64_t used = vocabulary.size > 0 ? std::min(vocabulary.size, rows) : rows;
  std::vector<std::int64_t> ids;
  std::ranges::copy_if(vocabulary.excluded, std::back_inserter(ids),
                       [&](std::int64_t id) { return id >= 0 && id < used; });
  std::ranges::sort(ids);
  const auto repeated = std::ranges::unique(ids);
  ids.erase(repeated.begin(), repeated.end());
  for (std::int64_t id = used; id < rows; ++id) ids.push_back(id);
  return ids;
}

namespace {

Followers followers_of(at::Tensor logits, const BeamVocabulary& vocabulary,
                       const FollowersRequest& request) {
  logits = logits.to(at::kCPU, at::kFloat).contiguous();
  const std::vector<std::int64_t> excluded = excluded_ids(vocabulary, logits.size(1));
  const bool of_probabilities = request.apply_rules && !request.of_logits;
  if (request.apply_rules) {
    logits = of_probabilities ? at::log_softmax(logits, 1) : logits.clone();
    request.apply_rules(logits);
  }
  Followers result{.width = std::min(request.wanted, logits.size(1) - std::ssize(excluded))};
  if (request.given) {
    result.excluded = excluded;
  }
  if (!result.excluded.empty()) {
    result.excluded_logits =
        logits.index_select(1, at::tensor(result.excluded, at::kLong)).contiguous();
  }
  RowTops tops = row_tops(
      logits,
      {.wanted = result.width, .excluded = excluded, .renormalize = vocabulary.renormalize});
  // A penalty on log probabilities is not compensated by a new normalisation.
  if (of_probabilities && !vocabulary.renormalize) tops.normalizers.zero_();
  result.ids = tops.ids;
  result.log_probabilities = tops.values - tops.normalizers.unsqueeze(1);
  result.normalizers = tops.normalizers;
  result.logits = std::move(logits);
  return result;
}

class Search {
 public:
  Search(StepModel& model, const std::vector<BeamSentence>& sentences,
         const BeamVocabulary& vocabulary, const BeamSettings& settings)
      : model_(model), sentences_(sentences), vocabulary_(vocabulary), settings_(settings) {}

  std::vector<std::vector<Hypothesis>> run() {
    std::vector<std::vector<Hypothesis>> results(sentences_.size());
    begin();
    at::Tensor ids = first_ids();
    for (std::int64_t length = 1; !active_.empty(); ++length) {
      // Twice the beam: as many may end, and the beam must stay full.
      FollowersRequest request{.wanted = 2 * settings_.beam,
                               .given = gives_next(length),
                               .of_logits = settings_.beam == 1};
      if (vocabulary_.rules.any()) {
        request.apply_rules = [&](at::Tensor& scores) { apply_rules_to(scores, length); };
      }
      const Followers followers = followers_of(model_.append(ids), vocabulary_, request);
      for (Sentence& sentence : active_) extend(sentence, followers, length);
      std::erase_if(active_, [&](const Sentence& sentence) {
        if (!sentence.open.empty()) return false;
        results[static_cast<std::size_t>(sentence.number)] = texts_of(sentence);
        return true;
      });
      if (!active_.empty()) ids = select_rows();
    }
    return results;
  }

 private:
  StepModel& model_;
  const std::vector<BeamSentence>& sentences_;
  const BeamVocabulary& vocabulary_;
  const BeamSettings& settings_;
  std::vector<Step> steps_;
  std::vector<Sentence> active_;

  // To the rows of the texts that choose their next token themselves.
  void apply_rules_to(at::Tensor& scores, std::int64_t length) const {
    const std::int64_t columns = scores.size(1);
    float* const values = scores.mutable_data_ptr<float>();
    for (const Sentence& sentence : active_) {
      const BeamSentence& given = source(sentence);
      if (length <= std::ssize(given.prefix)) continue;
      for (const OpenHypothesis& hypothesis : sentence.open) {
        std::vector<std::int64_t> text = ids_until(hypothesis.last);
        text.insert(text.begin(), given.begin.begin(), given.begin.end());
        apply_rules(vocabulary_.rules, text,
                    {values + hypothesis.row * columns, static_cast<std::size_t>(columns)});
      }
    }
  }

  // The ids of a text up to a step, this one included.
  std::vector<std::int64_t> ids_until(std::int64_t last) const {
    std::vector<std::int64_t> ids;
    for (std::int64_t at = last; at >= 0; at = steps_[static_cast<std::size_t>(at)].previous) {
      ids.push_back(steps_[static_cast<std::size_t>(at)].id);
    }
    std::ranges::reverse(ids);
    return ids;
  }

  bool gives_next(std::int64_t length) const {
    return std::ranges::any_of(active_, [&](const Sentence& sentence) {
      return length <= std::ssize(source(sentence).prefix);
    });
  }

  const BeamSentence& source(const Sentence& sentence) const {
    return sentences_[static_cast<std::size_t>(sentence.number)];
  }

  void begin() {
    for (std::size_t i = 0; i < sentences_.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      ROFORMER_ASSERT(sentences_[i].longest > std::ssize(sentences_[i].prefix));
      active_.push_back({.number = number, .open = {{.row = number}}});
    }
  }

  at::Tensor first_ids() const {
    const auto rows = std::ssize(sentences_);
    const std::int64_t length = sentences_.empty() ? 0 : std::ssize(sentences_[0].begin);
    at::Tensor ids = at::empty({rows, length}, at::kLong);
    std::int64_t* out = ids.mutable_data_ptr<std::int64_t>();
    for (const BeamSentence& sentence : sentences_) {
      ROFORMER_ASSERT(length > 0 && std::ssize(sentence.begin) == length);
      out = std::copy(sentence.begin.begin(), sentence.begin.end(), out);
    }
    return ids;
  }

  // A way on from an open hypothesis.
  struct Candidate {
    const OpenHypothesis* from = nullptr;
    std::int64_t id = 0;
    double step = 0;   // log probability of the id
    double total = 0;  // of the whole text
  };

  // All ways on, most probable first; of equals those of the earlier hypothesis and the likelier
  // id.
  std::vector<Candidate> candidates(const Sentence& sentence, const Followers& followers,
                                    std::int64_t length) const {
    const BeamSentence& limits = source(sentence);
    std::vector<Candidate> found;
    const auto add = [&](const OpenHypothesis& from, std::int64_t id, double step) {
      found.push_back(
          {.from = &from, .id = id, .step = step, .total = from.log_probability + step});
    };
    for (const OpenHypothesis& from : sentence.open) {
      if (length <= std::ssize(limits.prefix)) {
        const std::int64_t id = limits.prefix[static_cast<std::size_t>(length - 1)];
        add(from, id, followers.log_probability_of(from.row, id));
      } else if (length >= limits.longest) {
        add(from, vocabulary_.end,
            vocabulary_.free_end ? 0 : followers.log_probability_of(from.row, vocabulary_.end));
      } else if (length == 1 && vocabulary_.first >= 0) {
        add(from, vocabulary_.first, 0);
      } else {
        for (std::int64_t rank = 0; rank < followers.width; ++rank) {
          const double step = followers.log_probability(from.row, rank);
          if (step > kImpossible) add(from, followers.id(from.row, rank), step);
        }
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
    return found;
  }

  // The best score that a hypothesis of this length can still reach. Log probabilities only fall,
  // and a penalty that grows with the length helps most at the longest.
  double bound(double log_probability, std::int64_t length, std::int64_t longest) const {
    return length_penalized(log_probability, settings_.alpha > 0 ? longest : length + 1, settings_);
  }

  void extend(Sentence& sentence, const Followers& followers, std::int64_t length) {
    const std::vector<Candidate> ways = candidates(sentence, followers, length);
    const std::int64_t longest = source(sentence).longest;
    std::vector<OpenHypothesis> open;
    for (std::size_t rank = 0; rank < ways.size() && std::ssize(open) < settings_.beam; ++rank) {
      const Candidate& way = ways[rank];
      if (way.id != vocabulary_.end) {
        open.push_back({.last = add_step(way), .log_probability = way.total, .row = way.from->row});
      } else if (static_cast<std::int64_t>(rank) < settings_.beam) {
        finish(sentence, way, length);  // an end below the beam would not have been in it
      }
    }
    // A greedy search follows the most probable way alone.
    if (settings_.beam == 1 && !sentence.finished.empty()) open.clear();
    sentence.open = std::move(open);
    if (std::ssize(sentence.finished) < compared() || sentence.open.empty()) return;
    const double worst = sentence.finished.back().score;
    if (settings_.stopping == StoppingRule::exact) {
      std::erase_if(sentence.open, [&](const OpenHypothesis& hypothesis) {
        return bound(hypothesis.log_probability, length, longest) <= worst;
      });
    } else if (settings_.stopping == StoppingRule::full ||
               length_penalized(sentence.open[0].log_probability, length, settings_) <= worst) {
      sentence.open.clear();
    }
  }

  // How many finished hypotheses decide about the end.
  std::int64_t compared() const {
    return settings_.stopping == StoppingRule::exact ? settings_.n_best : settings_.beam;
  }

  std::int64_t add_step(const Candidate& way) {
    steps_.push_back({.previous = way.from->last, .id = way.id, .log_probability = way.step});
    return std::ssize(steps_) - 1;
  }

  void finish(Sentence& sentence, const Candidate& way, std::int64_t length) {
    const double score = length_penalized(way.total, length, settings_);
    auto& finished = sentence.finished;
    const auto place = std::ranges::find_if(
        finished, [&](const FinishedHypothesis& other) { return other.score < score; });
    if (place == finished.end() && std::ssize(finished) >= compared()) return;
    finished.insert(place, {.last = add_step(way), .log_probability = way.total, .score = score});
    if (std::ssize(finished) > compared()) finished.pop_back();
  }

  // Moves the model's rows to the open hypotheses; returns their last ids, [R, 1].
  at::Tensor select_rows() {
    std::vector<std::int64_t> rows, last;
    for (Sentence& sentence : active_) {
      for (OpenHypothesis& hypothesis : sentence.open) {
        rows.push_back(hypothesis.row);
        last.push_back(steps_[static_cast<std::size_t>(hypothesis.last)].id);
        hypothesis.row = std::ssize(rows) - 1;
      }
    }
    model_.reorder(rows);
    at::Tensor ids = at::empty({std::ssize(last), 1}, at::kLong);
    std::copy(last.begin(), last.end(), ids.mutable_data_ptr<std::int64_t>());
    return ids;
  }

  std::vector<Hypothesis> texts_of(const Sentence& sentence) const {
    std::vector<Hypothesis> texts;
    for (const FinishedHypothesis& finished : sentence.finished) {
      if (std::ssize(texts) == settings_.n_best) break;
      Hypothesis text{.log_probability = finished.log_probability, .score = finished.score};
      for (std::int64_t at = finished.last; at >= 0;) {
        const Step& step = steps_[static_cast<std::size_t>(at)];
        text.token_log_probabilities.push_back(step.log_probability);
        at = step.previous;
      }
      std::ranges::reverse(text.token_log_probabilities);
      text.ids = ids_until(finished.last);
      text.ids.pop_back();  // the end
      texts.push_back(std::move(text));
    }
    return texts;
  }
};

}  // namespace

double length_penalized(double log_probability, std::int64_t tokens, const BeamSettings& settings) {
  const auto n = static_cast<double>(tokens);
  const double base = settings.length_penalty == LengthPenalty::wu ? (5 + n) / 6 : n;
  return log_probability / std::pow(base, settings.alpha);
}

std::vector<std::vector<Hypothesis>> beam_search(StepModel& model,
                                                 const std::vector<BeamSentence>& sentences,
                                                 const BeamVocabulary& vocabulary,
                                                 const BeamSettings& settings) {
  ROFORMER_ASSERT(settings.beam >= 1 && settings.n_best >= 1 && settings.n_best <= settings.beam);
  ROFORMER_ASSERT(vocabulary.end >= 0);
  return Search(model, sentences, vocabulary, settings).run();
}

}  // namespace roformer
