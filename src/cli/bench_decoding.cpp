// `roformer bench decoding`: measures how fast a trained run translates the lines of a
// file or continues them.
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "bench/decoding_benchmark.h"
#include "cli/bench_commands.h"
#include "cli/trained_model_flags.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/line_reader.h"
#include "tasks/language/language_model.h"
#include "tasks/translation/translator.h"
#include "tasks/untrained.h"
#include "text/tokenizer.h"

namespace roformer {
namespace {

struct BenchDecodingOptions : BenchFlags {
  std::string run;
  TrainedModelOptions opening;  // without the overrides, which the flags of all benchmarks have
  std::string input;
  std::string output;
  std::int64_t lines = 0;
  std::int64_t tokens = 128;
  std::int64_t repeats = 3;
};

std::vector<std::string> read_lines(const std::string& path, std::int64_t most) {
  LineReader reader(path);
  std::vector<std::string> lines;
  std::string_view line;
  while ((most == 0 || std::ssize(lines) < most) && reader.next_text(line)) {
    lines.emplace_back(line);
  }
  reader.warn_of_replaced();
  if (lines.empty()) throw_failure(path, "is empty", "a file of one sentence or prompt a line");
  return lines;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  write_file_atomically(InnerPath::named(path), all);
}

const char* precision_in_words(WeightForm form) {
  return form == WeightForm::int8 ? "int8" : form == WeightForm::bf16 ? "bf16" : "fp32";
}

// The ids of each line. Throws Error (failure) if their numbers differ.
std::vector<std::vector<std::int64_t>> prompts_of(const std::vector<std::string>& lines,
                                                  const std::string& path,
                                                  const Tokenizer& tokenizer) {
  std::vector<std::vector<std::int64_t>> prompts;
  for (const std::string& line : lines) {
    std::vector<TokenId> ids;
    tokenizer.encode_prompt(line, ids);
    prompts.emplace_back(ids.begin(), ids.end());
    if (ids.empty() || ids.size() != prompts.front().size()) {
      throw_failure(fmt::format("{}:{}", path, prompts.size()),
                    fmt::format("is a prompt of {} tokens, that of line 1 has {}", ids.size(),
                                prompts.front().size()),
                    "all prompts of a batch need the same length, at least 1 token");
    }
  }
  return prompts;
}

void bench_generation(const BenchDecodingOptions& options, const TrainedModelOptions& opening,
                      const std::vector<std::string>& lines) {
  const TrainedModel run = open_run_of<LanguageModel>(options.run, opening);
  const GenerationWork work{.prompts = prompts_of(lines, options.input, *run.tokenizer),
                            .tokens = options.tokens,
                            .vocabulary = run.tokenizer->vocabulary_size()};
  const std::int64_t length = std::ssize(work.prompts.front());
  require_positions(run.settings, "--tokens", length + options.tokens);
  InferenceWeights weights;
  run.model->add_to(weights, run.weight_form);
  const InferenceWeights::Use use(&weights);
  std::vector<std::vector<std::int64_t>> continuations;
  const GenerationBenchmark result = [&] {
    const ElapsedLine elapsed("measuring");
    return benchmark_generation(*run.model, work, options.repeats, &continuations);
  }();
  if (!options.output.empty()) {
    std::vector<std::string> texts;
    for (const std::vector<std::int64_t>& ids : continuations) {
      texts.push_back(run.tokenizer->decode(std::vector<TokenId>(ids.begin(), ids.end())));
    }
    write_lines(options.output, texts);
  }
  const char* const precision = precision_in_words(run.weight_form);
  if (options.json) {
    const nlohmann::ordered_json object{
        {"position", run.settings.position.scheme},
        {"precision", precision},
        {"threads", at::get_num_threads()},
        {"prompts", work.prompts.size()},
        {"prompt_tokens", length},
        {"tokens", options.tokens},
        {"prompt_seconds", result.prompt_seconds},
        {"continuation_seconds", result.continuation_seconds},
        {"prompt_tokens_per_s", result.prompt_tokens_per_second},
        {"continuation_tokens_per_s", result.continuation_tokens_per_second},
        {"max_rss_mib", result.peak_memory_mib}};
    std::cout << object.dump() << '\n';
    return;
  }
  fmt::print("{} prompts of {} tokens, continued by {}, position {}, {}, {} threads\n",
             work.prompts.size(), length, options.tokens, run.settings.position.scheme, precision,
             at::get_num_threads());
  fmt::print("prompt        {:.3f} s, {:.1f} tokens/s\n", result.prompt_seconds,
             result.prompt_tokens_per_second);
  fmt::print("continuation  {:.3f} s, {:.1f} tokens/s\n", result.continuation_seconds,
             result.continuation_tokens_per_second);
  fmt::print("memory        {} MiB at most\n", result.peak_memory_mib);
}

void bench_decoding(const BenchDecodingOptions& options) {
  if (!options.output.empty()) require_output(options.output);
  const std::vector<std::string> lines = read_lines(options.input, options.lines);
  TrainedModelOptions opening = options.opening;
  opening.overrides = options.overrides;
  const TaskKind task = definition_of_run(options.run, opening.checkpoint).task;
  if (task_facts(task).causal) return bench_generation(options, opening, lines);
  std::vector<TrainedTranslator> runs;
  runs.push_back(open_run_of<Translator>(options.run, opening));
  const char* const precision = precision_in_words(runs.front().weight_form);
  const TextTranslator translator(std::move(runs));
  std::vector<std::string> texts;
  const DecodingBenchmark result = [&] {
    const ElapsedLine elapsed("measuring");
    return benchmark_decoding(translator, lines, options.repeats, &texts);
  }();
  if (!options.output.empty()) write_lines(options.output, texts);
  const DecodingSettings& decoding = translator.settings().decoding;
  if (options.json) {
    const nlohmann::ordered_json object{{"position", translator.settings().position.scheme},
                                        {"precision", precision},
                                        {"threads", at::get_num_threads()},
                                        {"beam", decoding.beam},
                                        {"stopping", to_word(decoding.stopping)},
                                        {"batch_tokens", decoding.batch_tokens},
                                        {"sentences", result.sentences},
                                        {"target_tokens", result.target_tokens},
                                        {"seconds", result.seconds},
                                        {"best_seconds", result.best_seconds},
                                        {"sentences_per_s", result.sentences_per_second},
                                        {"target_tokens_per_s", result.target_tokens_per_second},
                                        {"max_rss_mib", result.peak_memory_mib}};
    std::cout << object.dump() << '\n';
    return;
  }
  fmt::print("{} sentences, beam {}, position {}, {}, {} threads\n", format_count(result.sentences),
             decoding.beam, translator.settings().position.scheme, precision,
             at::get_num_threads());
  fmt::print("time    {:.2f} s (best {:.2f})\n", result.seconds, result.best_seconds);
  fmt::print("speed   {:.1f} sentences/s, {} target tokens/s\n", result.sentences_per_second,
             format_count(static_cast<std::int64_t>(result.target_tokens_per_second)));
  fmt::print("memory  {} MiB at most\n", result.peak_memory_mib);
}

}  // namespace

void add_bench_decoding(CLI::App& bench) {
  auto options = std::make_shared<BenchDecodingOptions>();
  CLI::App* command = add_command(
      bench,
      {.name = "decoding",
       .summary = "translation of a file's lines with a trained run, or their continuation",
       .details =
           "roformer bench decoding runs/en-de --input newstest2014.en --lines 500\n"
           "roformer bench decoding runs/llama --input prompts.txt --tokens 128\n"
           "A causal model continues the lines greedily, in one batch; they have one length\n"
           "in tokens.\n"
           "To compare with CTranslate2's search: --decoding.length_penalty average\n"
           "--decoding.alpha 1 --decoding.stopping full --decoding.longest_factor 0\n"
           "--decoding.longest_extra 256 (scripts/peers/ctranslate2_translate.py).\n"});
  command->add_option("run", options->run, "folder of a run or of a checkpoint")->required();
  command->add_option("--input", options->input, "file of one sentence or prompt a line")
      ->required();
  command->add_option("--lines", options->lines, "number of lines, from the first; 0: all")
      ->check(not_negative());
  add_count(*command, "--tokens", options->tokens, "tokens to generate for each prompt");
  add_count(*command, "--repeats", options->repeats, "rounds measured, after a warm-up round");
  command->add_option("--checkpoint", options->opening.checkpoint, "best, last or a step")
      ->capture_default_str();
  command->add_option("--output", options->output, "file for the translations or continuations");
  add_int8_flag(*command, options->opening.int8);
  add_json_flag(*command, *options);
  accept_settings(*command, options->overrides, trained_model_flags());
  command->callback([options] { bench_decoding(*options); });
}

}  // namespace roformer
