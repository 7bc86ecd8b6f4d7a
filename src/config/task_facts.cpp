#include "config/task_facts.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/attention_settings.h"

namespace roformer {
namespace {

constexpr std::array kMetrics = {
    MetricFacts{.name = "validation_loss", .title = "validation loss"},
    MetricFacts{
        .name = "validation_loss_standard_error", .title = "its standard error", .digits = 4},
    MetricFacts{.name = "masked_accuracy",
                .title = "masked accuracy",
                .unit = "%",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "accuracy",
                .title = "accuracy",
                .unit = "%",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "test_accuracy",
                .title = "test accuracy",
                .unit = "%",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "f1", .title = "F1", .unit = "%", .digits = 1, .higher_is_better = true},
    MetricFacts{.name = "matthews",
                .title = "Matthews",
                .unit = "x100",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "pearson",
                .title = "Pearson",
                .unit = "x100",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "spearman",
                .title = "Spearman",
                .unit = "x100",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "perplexity", .title = "perplexity", .digits = 2},
    MetricFacts{.name = "bits_per_character", .title = "bits per character"},
    MetricFacts{.name = "bits_per_byte", .title = "bits per byte"},
    MetricFacts{
        .name = "small_denominators", .title = "small denominators", .unit = "%", .digits = 3},
    MetricFacts{.name = "least_denominator",
                .title = "least denominator",
                .digits = 5,
                .higher_is_better = true},
    MetricFacts{.name = "symbol_accuracy",
                .title = "symbols right",
                .unit = "%",
                .digits = 1,
                .higher_is_better = true},
    MetricFacts{.name = "bleu", .title = "BLEU", .digits = 2, .higher_is_better = true},
    MetricFacts{.name = "chrf", .title = "chrF", .digits = 2, .higher_is_better = true},
};

constexpr const char* kPreparedText =
    "make a data set with `roformer data prepare`, then --data.directory FOLDER";

std::string_view by_loss(const Settings&) {
  return "loss";
}

// With those at the lengths of the stages.
std::vector<TaskFigure> with_lengths(std::vector<TaskFigure> figures, const Settings& settings) {
  std::set<std::int64_t> lengths;
  for (const StageSettings& stage : settings.stages) {
    lengths.insert(stage.length.value_or(settings.data.length));
  }
  lengths.erase(settings.data.length);
  for (const std::int64_t length : lengths) {
    for (const char* name : {"loss_at_length_", "accuracy_at_length_"}) {
      figures.push_back({name + std::to_string(length), name + std::to_string(length)});
    }
  }
  return figures;
}

// With those of the denominators of linear attention (attention/denominator_check.h).
std::vector<TaskFigure> with_denominators(std::vector<TaskFigure> figures,
                                          const Settings& settings) {
  if (!uses_linear_attention(settings.attention)) return figures;
  for (const char* name : {"small_denominators", "least_denominator"}) {
    figures.push_back({name, name});
  }
  return figures;
}

std::vector<TaskFigure> language_figures(std::vector<TaskFigure> figures,
                                         const Settings& settings) {
  return with_denominators(with_lengths(std::move(figures), settings), settings);
}

std::vector<TaskFigure> mlm_figures(const Settings& settings) {
  return language_figures({{"loss", "validation_loss"},
                           {"loss_standard_error", "validation_loss_standard_error"},
                           {"accuracy", "masked_accuracy"},
                           {"perplexity", "perplexity"}},
                          settings);
}

std::vector<TaskFigure> causal_figures(const Settings& settings) {
  return language_figures({{"loss", "validation_loss"},
                           {"loss_standard_error", "validation_loss_standard_error"},
                           {"accuracy", "accuracy"},
                           {"perplexity", "perplexity"},
                           {"bits_per_character", "bits_per_character"},
                           {"bits_per_byte", "bits_per_byte"}},
                          settings);
}

std::string_view by_glue_metric(const Settings& settings) {
  return glue_metric(settings.glue.task);
}

std::vector<TaskFigure> glue_figures(const Settings& settings) {
  std::vector<TaskFigure> figures{{"loss", "validation_loss"}, {"collapsed", "collapsed"}};
  const std::string ranking(by_glue_metric(settings));
  if (settings.glue.task == GlueTask::stsb) {
    figures.push_back({"pearson", "pearson"});
  } else if (ranking != "accuracy") {
    figures.push_back({"accuracy", "accuracy"});
  }
  figures.push_back({ranking, ranking});
  if (settings.glue.task != GlueTask::mnli) return figures;
  for (const TaskFigure& figure : std::vector(figures)) {  // of its second set
    figures.push_back({figure.figure + "_mismatched", figure.metric + "_mismatched"});
  }
  return figures;
}

std::string_view by_translation_ranking(const Settings& settings) {
  return Words<TranslationRanking>::texts[static_cast<std::size_t>(settings.translation.ranked_by)];
}

std::vector<TaskFigure> translation_figures(const Settings&) {
  return {
      {"loss", "validation_loss"},  {"bleu", "bleu"},         {"chrf", "chrf"},
      {"perplexity", "perplexity"}, {"accuracy", "accuracy"}, {"smoothed_loss", "smoothed_loss"}};
}

std::string_view by_accuracy(const Settings&) {
  return "accuracy";
}

std::vector<TaskFigure> matching_figures(const Settings&) {
  return {{"loss", "validation_loss"},
          {"accuracy", "accuracy"},
          {"test_accuracy", "test_accuracy"},
          {"collapsed", "collapsed"}};
}

// Of the trained length, and of those beyond it by how many times they are as long.
std::vector<TaskFigure> probe_figures(const Settings& settings) {
  std::vector<TaskFigure> figures{{"loss", "validation_loss"}};
  for (std::int64_t times = 1; times <= settings.probe.longest; times *= 2) {
    for (const char* name : {"accuracy", "symbol_accuracy"}) {
      const std::string figure =
          std::string(name) + (times == 1 ? "" : "_at_x" + std::to_string(times));
      figures.push_back({figure, figure});
    }
  }
  return figures;
}

const std::vector<TaskFacts>& table() {
  static const std::vector<TaskFacts> facts = {
      {.task = TaskKind::mlm,
       .title = "masked language model",
       .data_hint = kPreparedText,
       .fills_masks = true,
       .evaluates_text = true,
       .figures = mlm_figures,
       .ranked_by = by_loss,
       .columns = {"masked_accuracy", "loss_at_25", "loss_at_50", "loss_at_75",
                   "tokens_per_second"}},
      {.task = TaskKind::causal_lm,
       .title = "causal language model",
       .causal = true,
       .data_hint = kPreparedText,
       .generates = true,
       .evaluates_text = true,
       .figures = causal_figures,
       .ranked_by = by_loss,
       .columns = {"perplexity", "bits_per_character", "loss_at_25", "loss_at_50", "loss_at_75",
                   "tokens_per_second"}},
      {.task = TaskKind::glue,
       .title = "classifier",
       .data = TaskData::glue_folder,
       .data_hint = "--data.directory FOLDER, the GLUE folder that holds MRPC/, SST-2/ and so on",
       .labelled = true,
       .predicts_labels = true,
       .figures = glue_figures,
       .ranked_by = by_glue_metric,
       .columns = {"score_median", "collapsed", "training_examples", "validation_examples",
                   "minutes"}},
      {.task = TaskKind::translation,
       .title = "translator",
       .has_decoder = true,
       .data = TaskData::parallel_text,
       .data_hint = "make a parallel data set with `roformer data prepare`, then "
                    "--data.directory FOLDER",
       .translates = true,
       .figures = translation_figures,
       .ranked_by = by_translation_ranking,
       .columns = {"bleu", "chrf", "perplexity", "tokens_per_second"}},
      {.task = TaskKind::matching,
       .title = "matcher of texts",
       .data = TaskData::matching_folder,
       .data_hint = "make a folder of triplets with `roformer data triplets`, then "
                    "--data.directory FOLDER",
       .labelled = true,
       .matches = true,
       .figures = matching_figures,
       .ranked_by = by_accuracy,
       .columns = {"test_accuracy", "collapsed", "training_examples", "validation_examples",
                   "minutes"}},
      {.task = TaskKind::probe,
       .title = "probe of length",
       .causal = true,
       .data = TaskData::generated,
       .figures = probe_figures,
       .ranked_by = by_accuracy,
       .columns = {"symbol_accuracy", "minutes"}},
      {.task = TaskKind::masked_probe,
       .title = "probe of length for encoders",
       .data = TaskData::generated,
       .figures = probe_figures,
       .ranked_by = by_accuracy,
       .columns = {"symbol_accuracy", "minutes"}},
  };
  return facts;
}

}  // namespace

std::optional<FoundMetric> find_metric(std::string_view name) {
  const auto named = [](std::string_view figure) -> const MetricFacts* {
    const auto found = std::ranges::find(kMetrics, figure, &MetricFacts::name);
    return found == kMetrics.end() ? nullptr : &*found;
  };
  if (const MetricFacts* const metric = named(name)) return FoundMetric{.facts = metric};
  for (const std::string_view at : {"_at_x", "_at_length_"}) {
    const std::size_t end = name.rfind(at);
    if (end == std::string_view::npos) continue;
    const MetricFacts* const metric = named(name.substr(0, end));
    if (metric == nullptr || !metric->is_share()) continue;
    return FoundMetric{.facts = metric, .at = std::string(name.substr(end))};
  }
  return std::nullopt;
}

std::span<const TaskFacts> all_task_facts() {
  return table();
}

const TaskFacts& task_facts(TaskKind task) {
  const auto found = std::ranges::find(table(), task, &TaskFacts::task);
  ROFORMER_ASSERT(found != table().end());
  return *found;
}

std::string_view glue_metric(GlueTask task) {
  switch (task) {
    case GlueTask::cola:
      return "matthews";
    case GlueTask::mrpc:
    case GlueTask::qqp:
      return "f1";
    case GlueTask::stsb:
      return "spearman";
    default:
      return "accuracy";
  }
}

std::string metric_of(const std::string& figure, const Settings& settings) {
  for (const TaskFigure& known : task_facts(settings.task).figures(settings)) {
    if (known.figure == figure) return known.metric;
  }
  if (figure.starts_with(kAveraged)) {
    return std::string(kAveraged) + metric_of(figure.substr(kAveraged.size()), settings);
  }
  return figure;
}

}  // namespace roformer
