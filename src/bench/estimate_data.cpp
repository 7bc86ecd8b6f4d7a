#include "bench/estimate_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/progress.h"
#include "config/task_facts.h"
#include "runs/model_source.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The first part whose word is in a parameter's name has it.
struct NamedPart {
  std::string_view word, title;
};
constexpr std::array<NamedPart, 6> kParts{{{"position.", "positions"},
                                           {"norm.", "norms"},
                                           {"cross_attention.", "attention to the source"},
                                           {"attention.", "attention"},
                                           {"feed_forward.", "feed-forward"},
                                           {"embedding", "embeddings"}}};

bool data_are_there(const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  if (facts.data == TaskData::generated) return true;
  std::error_code error;
  if (data_path(settings).empty() || !fs::exists(data_path(settings), error)) return false;
  return !is_labelled(settings) || !settings.tokenizer.file.empty() || !settings.model.from.empty();
}

// The benchmark's training sets (Wang 2018). Tokens of an example in the mean: the runs of
// configs/study/glue_small.json, with a vocabulary of 8,192; QQP's and MNLI's from their words.
struct GlueSize {
  GlueTask task;
  std::int64_t examples;
  double tokens;
};
constexpr std::array<GlueSize, 9> kGlueSizes{{{GlueTask::cola, 8551, 14.4},
                                              {GlueTask::sst2, 67349, 18.2},
                                              {GlueTask::mrpc, 3668, 72.4},
                                              {GlueTask::stsb, 5749, 36.4},
                                              {GlueTask::qqp, 363846, 39},
                                              {GlueTask::mnli, 392702, 52},
                                              {GlueTask::qnli, 104743, 61.3},
                                              {GlueTask::rte, 2490, 80},
                                              {GlueTask::wnli, 635, 40}}};

}  // namespace

void ListedParameters::add(const ParameterSpec& spec, OptimizerKind optimizer) {
  const std::int64_t size =
      std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>());
  const auto* const found = std::ranges::find_if(kParts, [&](const NamedPart& part) {
    return spec.name.find(part.word) != std::string::npos;
  });
  const std::string title(found == kParts.end() ? "head" : found->title);
  auto part = std::ranges::find(parts, title, &ParameterPart::name);
  if (part == parts.end()) part = parts.insert(parts.end(), {.name = title});
  part->count += size;
  count += size;
  if (optimizer == OptimizerKind::muon && !spec.matrices.empty()) of_muon += size;
}

bool is_labelled(const Settings& settings) {
  const TaskFacts& facts = task_facts(settings.task);
  return facts.labelled || facts.data == TaskData::matching_folder;
}

bool needs_all_rows(const Settings& settings) {
  switch (settings.task) {
    case TaskKind::tagging:
      return true;
    case TaskKind::embedding:
      return settings.embedding.pooling == TextPooling::mean;
    case TaskKind::matching:
      return settings.matching.pooling == TextPooling::mean;
    default:
      return is_labelled(settings) && classifier_settings(settings).pooling == TextPooling::mean;
  }
}

OpenedTask open_with_tokenizer(const Settings& settings, const ComputePlan& plan) {
  TaskSources sources{.settings = settings, .plan = plan};
  if (is_labelled(settings) && !settings.model.from.empty() && settings.tokenizer.file.empty()) {
    sources.offered = open_model_source(settings.model.from).tokenizer;
  }
  return open_task(sources);
}

OpenedEstimate open_for_estimate(const Settings& given, const EstimateRequest& request) {
  const TaskDefinition& definition = task_definition(given.task);
  OpenedEstimate opened{.settings = given};
  Settings& settings = opened.settings;
  const ParametersOnly listed(
      [&](const ParameterSpec& spec) { opened.parameters.add(spec, given.training.optimizer); });
  if (data_are_there(given)) {
    if (request.vocabulary > 0 || request.examples > 0) {
      throw_usage(request.vocabulary > 0 ? "--vocabulary" : "--examples",
                  "is for data that are not prepared, and these are: " + data_path(given).string());
    }
    if (definition.complete != nullptr) settings = definition.complete(given);
    OpenedTask task = open_with_tokenizer(settings, {});
    if (settings.model.vocabulary == 0 && task.tokenizer) {
      settings.model.vocabulary = task.tokenizer->vocabulary_size();
    }
    opened.task = std::move(task.task);
    return opened;
  }
  if (request.vocabulary > 0) settings.model.vocabulary = request.vocabulary;
  if (settings.model.vocabulary == 0) {
    throw_usage("--vocabulary",
                data_path(given).empty()
                    ? "no data are named, so the size of the vocabulary is unknown"
                    : data_path(given).string() + " is not there, so the vocabulary is unknown",
                "--vocabulary 30522, or prepare the data first");
  }
  if (settings.task == TaskKind::classification && settings.classification.classes.empty()) {
    settings.classification.classes = {"0", "1"};
    opened.assumptions.push_back("two classes.");
  }
  if (settings.task == TaskKind::tagging && settings.tagging.classes.empty()) {
    settings.tagging.classes = {"O", "B-1", "I-1"};
    opened.assumptions.push_back("three tags.");
  }
  opened.assumptions.push_back(fmt::format("The data are not there; a vocabulary of {}.",
                                           format_count(settings.model.vocabulary)));
  definition.make_model(
      settings, {.source = settings.model.vocabulary, .target = settings.model.vocabulary}, {});
  return opened;
}

AssumedData assumed_size(OpenedEstimate& opened, const EstimateRequest& request) {
  const Settings& settings = opened.settings;
  const auto length = static_cast<double>(settings.data.length);
  AssumedData size{.examples = static_cast<double>(request.examples),
                   .tokens = request.tokens_of_example};
  if (settings.task == TaskKind::glue) {
    const auto* const known = std::ranges::find(kGlueSizes, settings.glue.task, &GlueSize::task);
    if (size.examples == 0) size.examples = static_cast<double>(known->examples);
    if (size.tokens == 0) size.tokens = std::min(length, known->tokens);
    opened.assumptions.push_back(
        fmt::format("{} examples of {} tokens in the mean, as the benchmark's.",
                    format_count(std::llround(size.examples)), std::llround(size.tokens)));
  } else if (size.tokens == 0 && is_labelled(settings)) {
    size.tokens = length;
    opened.assumptions.push_back(fmt::format(
        "Every text has {} tokens, the most that there can be (--tokens).", settings.data.length));
  } else if (settings.task == TaskKind::translation && size.tokens == 0) {
    size.tokens = std::min(length, kTokensOfSentence);
    opened.assumptions.push_back(fmt::format(
        "Sentences of {:g} tokens, as WMT's English and German (--tokens).", size.tokens));
  } else if (size.tokens == 0) {
    size.tokens = length;
  }
  return size;
}

}  // namespace roformer
