#include "experiments/translation_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "experiments/difference_table.h"
#include "experiments/study_table.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/resampling.h"
#include "metrics/statistics.h"
#include "tasks/translation/translation_evaluation.h"

namespace roformer {
namespace {

constexpr std::size_t kResamples = 1000;  // Koehn's, and sacreBLEU's default
constexpr NumberFormat kScore{NumberFormat::Style::fixed, 2};

// A metric with the column that shows it.
struct Scorer {
  std::string title;
  std::string key;
  std::unique_ptr<TranslationMetric> metric;
};

std::vector<Scorer> scorers(const std::string& target_language) {
  std::vector<Scorer> all;
  all.push_back({"BLEU", "bleu", std::make_unique<Bleu>(bleu_for(target_language))});
  all.push_back({"chrF2", "chrf", std::make_unique<Chrf>(ChrfSettings{})});
  if (target_language == "de" || target_language == "en") {
    all.push_back({"tokenised BLEU, compounds split", "bleu_compound_split",
                   std::make_unique<Bleu>(BleuSettings{.tokenizer = BleuTokenizer::moses_compound,
                                                       .language = target_language == "de"
                                                                       ? MosesLanguage::german
                                                                       : MosesLanguage::english})});
  }
  return all;
}

StatisticsTable statistics_of(TranslationMetric& metric, const std::vector<std::string>& lines,
                              const std::vector<std::string>& references) {
  StatisticsTable table(metric.width());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view reference = references[i];
    table.append(metric.row(lines[i], std::span(&reference, 1)));
  }
  return table;
}

void add_scores(const StudyTranslations& translations, TranslationReport& report) {
  std::vector<Scorer> all = scorers(translations.target_language);
  std::vector<Column> columns{words_column("model")};
  for (const Scorer& scorer : all) {
    columns.push_back({.title = scorer.title,
                       .key = scorer.key,
                       .format = kScore,
                       .best = Column::Best::highest});
  }
  report.scores = Table(columns);
  for (const TranslationRow& row : translations.rows) {
    if (row.runs.empty()) continue;
    std::vector<Cell> cells{row.title};
    for (const Scorer& scorer : all) {
      std::vector<double> scores;
      for (const TranslatedSet& run : row.runs) {
        const StatisticsTable table =
            statistics_of(*scorer.metric, run.lines, translations.references);
        scores.push_back(scorer.metric->describe(table.sums()).score);
        report.figures[run.run][translations.split + "_" + scorer.key] = scores.back();
      }
      cells.push_back(mean_cell(scores));
    }
    report.scores.add_row(std::move(cells));
  }
  std::string signatures;
  for (const Scorer& scorer : all) {
    report.signatures[translations.split + "_" + scorer.key] = scorer.metric->signature({});
    signatures += fmt::format("{}{} `{}`", signatures.empty() ? "" : "; ", scorer.title,
                              scorer.metric->signature({}));
  }
  report.scores_caption = fmt::format("{} sentences of the {} set. Signatures: {}.",
                                      translations.sources.size(), translations.split, signatures);
}

// For each row with translations, the index of the row of the study's reference; -1: none.
std::vector<std::ptrdiff_t> references_of(const StudySettings& study,
                                          const std::vector<StudyRow>& rows,
                                          const StudyTranslations& translations) {
  std::vector<std::ptrdiff_t> result;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StudyRow* const reference = reference_of(study, rows, rows[i]);
    const std::ptrdiff_t index = reference == nullptr ? -1 : reference - rows.data();
    const bool there = index >= 0 && !translations.rows[i].runs.empty() &&
                       !translations.rows[static_cast<std::size_t>(index)].runs.empty();
    result.push_back(there ? index : -1);
  }
  return result;
}

void add_tests(const StudySettings& study, const std::vector<StudyRow>& rows,
               const StudyTranslations& translations, TranslationReport& report) {
  constexpr NumberFormat kPValue{NumberFormat::Style::fixed, 4};
  report.tests = Table({words_column("model"),
                        words_column("reference"),
                        {.title = "BLEU", .key = "bleu", .format = kScore},
                        {.title = "the reference's", .key = "bleu_reference", .format = kScore},
                        {.title = "difference", .format = kScore},
                        {.title = "p, bootstrap", .key = "p_bootstrap", .format = kPValue},
                        {.title = "p, two-sided", .key = "p", .format = kPValue},
                        {.title = "p, Holm", .key = "p_holm", .format = kPValue}});
  if (study.reference.empty() || translations.sources.empty()) return;
  const std::vector<std::ptrdiff_t> references = references_of(study, rows, translations);
  Bleu metric(bleu_for(translations.target_language));
  const Resamples resamples =
      draw_resamples(translations.sources.size(), kResamples, kResamplingSeed);
  std::map<std::ptrdiff_t, std::vector<std::size_t>> groups;  // rows by their reference
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (references[i] >= 0) groups[references[i]].push_back(i);
  }
  std::vector<std::vector<Cell>> lines;
  std::vector<double> p_values;
  for (const auto& [reference, group] : groups) {
    const auto& base = translations.rows[static_cast<std::size_t>(reference)];
    std::vector<StatisticsTable> systems{
        statistics_of(metric, base.runs.front().lines, translations.references)};
    for (const std::size_t i : group) {
      systems.push_back(
          statistics_of(metric, translations.rows[i].runs.front().lines, translations.references));
    }
    const std::vector<PairedResult> results = paired_bootstrap(metric, systems, resamples);
    for (std::size_t k = 0; k < group.size(); ++k) {
      const PairedResult& own = results[k + 1];
      p_values.push_back(two_sided_p_value(metric, systems.front(), systems[k + 1],
                                           kRandomizationTrials, kResamplingSeed));
      lines.push_back({translations.rows[group[k]].title, base.title, own.score,
                       results.front().score, own.score - results.front().score,
                       own.p_value.value_or(1), p_values.back()});
    }
  }
  const std::vector<double> corrected = holm_adjusted(p_values);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i].emplace_back(corrected[i]);
    report.tests.add_row(std::move(lines[i]));
  }
  report.tests_caption = fmt::format(
      "BLEU of the first run of each row against that of {}. \"p, bootstrap\": sacreBLEU's paired "
      "bootstrap (Koehn 2004), {} resamples of the sentences, nearly one-sided where one system is "
      "clearly ahead. \"p, two-sided\": paired approximate randomization (Riezler and Maxwell "
      "2005), {} trials; \"p, Holm\" corrects it for {} comparison{}. Seed {} for both. They hold "
      "for these sentences and these weights: runs with other seeds differ by more.",
      study.reference, kResamples, kRandomizationTrials, p_values.size(),
      p_values.size() == 1 ? "" : "s", kResamplingSeed);
}

// The mean over a row's runs in each bucket.
Series lengths_of(const TranslationRow& row, const StudyTranslations& translations) {
  Series line{.name = row.title};
  for (const TranslatedSet& run : row.runs) {
    const std::vector<SourceLengthBucket> buckets = bleu_by_source_length(
        translations.sources, translations.references, run.lines, translations.target_language);
    line.x.resize(buckets.size());
    line.y.resize(buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      line.x[i] = buckets[i].mean_words;
      line.y[i] += buckets[i].bleu / static_cast<double>(row.runs.size());
    }
  }
  return line;
}

void add_lengths(const StudyTranslations& translations, TranslationReport& report) {
  LineChart& chart = report.by_length;
  chart = {.title = "BLEU by the length of the source",
           .x = {.title = "words of the source", .unit = "mean of each bucket"},
           .y = {.title = "BLEU"},
           .markers = LineChart::Markers::always};
  for (const TranslationRow& row : translations.rows) {
    if (!row.runs.empty()) chart.series.push_back(lengths_of(row, translations));
  }
  std::string buckets;
  for (const SourceLengthBucket& bucket :
       bleu_by_source_length(translations.sources, translations.references, translations.references,
                             translations.target_language)) {
    buckets +=
        fmt::format("{}{} words: {}", buckets.empty() ? "" : ", ", bucket.name, bucket.sentences);
  }
  chart.subtitle = "Sentences of " + buckets;
}

void add_examples(const StudySettings& study, const StudyTranslations& translations,
                  TranslationReport& report) {
  const std::size_t all = translations.sources.size();
  const std::size_t wanted = std::min(all, static_cast<std::size_t>(study.evaluations.examples));
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t at = i * all / wanted;
    Table table({words_column(fmt::format("sentence\u00a0{}", at + 1)), words_column("", "text")});
    table.add_row({"source", translations.sources[at]});
    table.add_row({"reference", translations.references[at]});
    for (const TranslationRow& row : translations.rows) {
      if (!row.runs.empty()) table.add_row({row.title, row.runs.front().lines[at]});
    }
    report.examples.push_back(std::move(table));
  }
  report.examples_caption = fmt::format(
      "{} of the {} sentences, spread evenly over the {} set and not chosen; each model's first "
      "run.",
      wanted, all, translations.split);
}

}  // namespace

TranslationReport translation_report(const StudySettings& study, const std::vector<StudyRow>& rows,
                                     const StudyTranslations& translations) {
  TranslationReport report;
  add_scores(translations, report);
  add_tests(study, rows, translations, report);
  add_lengths(translations, report);
  add_examples(study, translations, report);
  report.missing = Table({words_column("without translations"), words_column("why")});
  for (const TranslationRow& row : translations.rows) {
    if (!row.reason.empty()) report.missing.add_row({row.title, row.reason});
  }
  return report;
}

}  // namespace roformer
