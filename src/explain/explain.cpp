#include "explain/explain.h"

#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/progress.h"
#include "config/attention_layers.h"
#include "metrics/clustered_mean.h"
#include "model/transformer_stack.h"
#include "tasks/language_batches.h"

namespace roformer {
namespace {

constexpr std::int64_t kTokensAtATime = 2048;    // whose scores are in memory
constexpr std::int64_t kMostContents = 16;       // of a group
constexpr std::int64_t kScoreNumbers = 1 << 23;  // of one query's content with a group's keys
constexpr std::int64_t kGroups = 4;              // of as many contents as may be

std::vector<LanguageBatch> read_rows(const TrainedModel& model, const Dataset& dataset,
                                     const ExplainOptions& options, std::int64_t length) {
  const auto batches =
      make_language_batches(model.settings, {{dataset}},
                            {.split = options.split,
                             .length = length,
                             .batches = {.rows = std::max<std::int64_t>(1, kTokensAtATime / length),
                                         .cross_documents = model.settings.data.cross_documents}});
  const std::int64_t limit = options.sequences * length;
  const Arrangement arrangement = arrange(length, {});
  std::vector<LanguageBatch> result;
  for (std::int64_t n = 0; n < batches->validation_batches(limit); ++n) {
    result.push_back(batches->validation(n, limit, arrangement));
  }
  return result;
}

// The positions where all texts hold the same token.
std::vector<std::int64_t> same_tokens(const std::vector<LanguageBatch>& batches,
                                      std::int64_t longest) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(longest), -1);
  std::vector<bool> same(first.size(), true);
  for (const LanguageBatch& batch : batches) {
    const at::Tensor ids = batch.ids.contiguous();
    const std::int64_t* const values = ids.const_data_ptr<std::int64_t>();
    for (const TokenBlock& block : batch.layout.blocks) {
      for (std::int64_t i = 0; i < block.sequences * block.length; ++i) {
        const auto place = static_cast<std::size_t>(i % block.length);
        const std::int64_t id = values[block.begin + i];
        if (first[place] < 0) first[place] = id;
        if (first[place] != id) same[place] = false;
      }
    }
  }
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < longest; ++i) {
    if (same[static_cast<std::size_t>(i)]) result.push_back(i);
  }
  return result;
}

void check(const TrainedModel& model, std::int64_t length) {
  if (uses_linear_attention(model.settings.attention)) {
    throw_usage("attention.kernel", "linear attention makes no scores that could be explained",
                "a run whose attention.kernel is softmax in all layers");
  }
  require_positions(model.settings, "--length", length);
}

// How many contents a group has, so that scores of all pairs fit.
std::int64_t contents_of_group(std::int64_t heads, std::int64_t length) {
  return std::clamp<std::int64_t>(kScoreNumbers / (heads * length * length), 4, kMostContents);
}

std::vector<HeadExplanation> explain_scores(const LayerRecord& record, std::int64_t layer,
                                            std::int64_t groups) {
  const std::vector<ScoreShares> shares = score_shares({.scheme = *record.scheme,
                                                        .attention = *record.attention,
                                                        .context = *record.context,
                                                        .query = record.query,
                                                        .key = record.key,
                                                        .key_features = record.key_features,
                                                        .query_positions = record.positions.query,
                                                        .key_positions = record.positions.key,
                                                        .groups = groups});
  std::vector<HeadExplanation> heads;
  for (std::size_t h = 0; h < shares.size(); ++h) {
    heads.push_back({.layer = layer, .head = static_cast<std::int64_t>(h), .shares = shares[h]});
  }
  return heads;
}

}  // namespace

Explanation explain(const TrainedModel& trained, const Dataset& dataset,
                    const ExplainOptions& options) {
  const c10::AutoGradMode no_gradient(false);
  const Settings& settings = trained.settings;
  const std::int64_t length = options.length > 0 ? options.length : settings.data.length;
  check(trained, length);
  dataset.require(options.split);
  const LanguageModel& model = *trained.model;
  const std::vector<LanguageBatch> batches = read_rows(trained, dataset, options, length);
  const std::int64_t layers = settings.model.layers, heads = settings.model.heads;
  std::int64_t tokens = 0, longest = 0;
  for (const LanguageBatch& batch : batches) {
    tokens += batch.ids.numel();
    longest = std::max(longest, batch.layout.longest);
  }
  Explanation result{.sequences = tokens / length, .length = length};

  const std::int64_t passes = options.ablations ? 1 + layers * (heads + 1) : 0;
  ProgressBar bar("explaining", static_cast<std::uint64_t>(1 + layers + passes), "passes");
  std::uint64_t done = 0;
  const auto step = [&] { bar.advance_to(++done); };

  const std::int64_t contents = contents_of_group(heads, longest);
  const std::int64_t groups = kGroups * kMostContents / contents;
  AttentionRecorder recorder({.layers = layers,
                              .length = longest,
                              .tokens = tokens,
                              .contents = contents * groups,
                              .same_tokens = same_tokens(batches, longest),
                              .seed = settings.seed});
  const RowLosses losses = row_losses(model, batches, length, &recorder);
  const std::int64_t targets =
      std::accumulate(losses.targets.begin(), losses.targets.end(), std::int64_t{0});
  if (targets == 0) {
    throw_failure(dataset.folder().string(),
                  fmt::format("{} rows of the {} split have no target to predict", result.sequences,
                              to_string(options.split)),
                  "more --sequences");
  }
  result.targets = targets;
  const ClusteredMean loss = clustered_mean(losses.sums, losses.targets);
  result.loss = loss.mean;
  result.standard_error = loss.standard_error;
  step();

  std::vector<PositionMeans> means;
  std::vector<const PositionScheme*> schemes;
  for (std::int64_t i = 0; i < layers; ++i) {
    const LayerRecord record = recorder.layer(i);
    result.layers.push_back({.masses = record.masses,
                             .frequencies = record.frequencies,
                             .heads = explain_scores(record, i, groups)});
    means.push_back(record.positions);
    schemes.push_back(record.scheme);
    step();
  }
  const PositionScheme& scheme = model.encoder().scheme();
  const bool adds = scheme.draws_places()
                        ? scheme.embedding_at(*&recorder.layer(0).context->places).defined()
                        : scheme.embedding(Positions::range(0, 1)).defined();
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    if (std::find(schemes.begin(), schemes.begin() + static_cast<std::ptrdiff_t>(i), schemes[i]) !=
        schemes.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    for (std::string& line : ablation_in_words(*schemes[i], adds)) {
      if (std::find(result.ablation.begin(), result.ablation.end(), line) ==
          result.ablation.end()) {
        result.ablation.push_back(std::move(line));
      }
    }
  }
  if (options.ablations) {
    if (!adds) means.clear();
    const auto without = [&](const AblatedPart& part) {
      PositionAblation ablation(part, means);
      const LossChange change = loss_change(losses, row_losses(model, batches, length, &ablation));
      step();
      return change;
    };
    result.ablated = true;
    result.without_positions = without({});
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      LayerExplanation& entry = result.layers[static_cast<std::size_t>(layer)];
      entry.without_positions = without({.layer = layer});
      for (HeadExplanation& head : entry.heads) {
        head.without_positions = without({.layer = layer, .head = head.head});
      }
    }
  }
  bar.finish(done);
  return result;
}

}  // namespace roformer
