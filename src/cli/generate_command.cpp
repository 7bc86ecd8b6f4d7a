// `roformer generate`: continues a text with a causal language model.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "cli/trained_model_flags.h"
#include "config/task_facts.h"
#include "data/line_reader.h"
#include "model/generate.h"
#include "model/next_token.h"
#include "tasks/language/generated_text.h"
#include "tasks/language/language_model.h"
#include "tasks/untrained.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roformer {
namespace {

struct GenerateOptions {
  std::string model;
  std::string prompt;
  bool literal = false;
  bool chat = false;
  std::string system;
  TrainedModelOptions opening;
  GenerationOptions generation;
  std::vector<std::string> stops;
  bool ignore_end = false;
  bool json = false;
};

// For "-", reads standard input and removes the line end that a shell adds.
std::string prompt_text(const std::string& given) {
  if (given != "-") return given;
  LineReader lines("-", LineReader::kAnyLength);
  std::string text;
  for (std::string_view line; lines.next_text(line);) text.append(line).append("\n");
  if (text.ends_with('\n')) text.pop_back();
  lines.warn_of_replaced();
  return text;
}

// The prompt, preceded by the token that decoding.prompt_start names; the separator if the prompt
// is empty.
std::vector<std::int64_t> prompt_ids(const std::string& prompt, bool literal, PromptStart start,
                                     const Tokenizer& tokenizer) {
  const SpecialTokens& special = tokenizer.special();
  if (start == PromptStart::classification && special.classification < 0) {
    throw_usage("decoding.prompt_start", "this vocabulary has no classification token",
                "separator or nothing");
  }
  const TokenId first = start == PromptStart::separator        ? special.separator
                        : start == PromptStart::classification ? special.classification
                                                               : -1;
  std::vector<TokenId> text;
  literal ? tokenizer.encode(prompt, text) : tokenizer.encode_prompt(prompt, text);
  std::vector<std::int64_t> ids(text.begin(), text.end());
  if (first >= 0) {
    if (!ids.empty() && ids.front() == first) {
      log::warn(
          "the prompt names {} itself, which the run puts before every prompt: it is there "
          "twice",
          tokenizer.piece(first));
    }
    ids.insert(ids.begin(), first);
  }
  if (ids.empty() && special.separator >= 0) ids.push_back(special.separator);
  if (ids.empty()) {
    const bool words = tokenizer.kind() != TokenizerKind::ids;
    throw_usage("prompt", "is needed: this vocabulary has no separator to begin with",
                words ? "roformer generate RUN \"Once upon a time\""
                      : "roformer generate RUN \"17 4 25\", as it has no tokenizer");
  }
  return ids;
}

// The message in the format of the model's chat template, which includes the beginning of the text.
std::vector<std::int64_t> chat_ids(const std::string& message, const GenerateOptions& options,
                                   const Tokenizer& tokenizer) {
  if (tokenizer.chat().source.empty()) {
    throw_usage("--chat", fmt::format("{} has no chat template", options.model),
                "`roformer import` takes that of a folder (chat_template.jinja, or chat_template "
                "in tokenizer_config.json); without --chat the prompt is a text to continue");
  }
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({.role = "system", .content = options.system});
  messages.push_back({.role = "user", .content = message});
  std::vector<TokenId> ids;
  tokenizer.encode_prompt(render_chat(tokenizer.chat(), messages), ids);
  if (ids.empty()) throw_failure("--chat", "the chat template writes nothing");
  return {ids.begin(), ids.end()};
}

// Writes the text of a sample on the terminal while it grows.
class Typewriter {
 public:
  explicit Typewriter(GeneratedText& text) : text_(text) {
    std::cout << text_.begin() << std::flush;
  }
  // Ends the line, so that an error message after an early end starts on a new one.
  ~Typewriter() { std::cout << text_.end() << std::endl; }
  Typewriter(const Typewriter&) = delete;
  Typewriter& operator=(const Typewriter&) = delete;

  void add(std::int64_t id) { std::cout << text_.add(id) << std::flush; }

 private:
  GeneratedText& text_;
};

struct Sample {
  std::int64_t number = 1;
  std::string text;  // with that of the prompt
  std::vector<std::int64_t> ids;
};

// As a JSON line, or under a heading.
void print_sample(const Sample& sample, const std::string& prompt, bool json) {
  if (json) {
    const nlohmann::ordered_json object = {
        {"sample", sample.number}, {"prompt", prompt}, {"text", sample.text}, {"ids", sample.ids}};
    std::cout << object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    fmt::print("--- sample {}\n{}\n", sample.number, sample.text);
  }
}

// Generates at most this many samples at a time, because their keys and values need memory.
constexpr std::int64_t kSideBySide = 64;

// `shown` are the ids of the prompt that belong to the texts.
std::vector<Sample> make_samples(GenerationOptions options, const std::vector<std::int64_t>& prompt,
                                 const std::vector<std::int64_t>& shown,
                                 const std::vector<std::string>& stops, const Tokenizer& tokenizer,
                                 NextToken model) {
  std::vector<Sample> samples;
  std::vector<GeneratedText> texts;
  for (std::int64_t i = 0; i < options.samples; ++i) {
    texts.emplace_back(tokenizer, shown, stops);
    samples.push_back({.number = options.first_sample + i + 1, .text = texts.back().begin()});
  }
  options.on_token = [&](std::int64_t sample, std::int64_t id) {
    const auto i = static_cast<std::size_t>(sample);
    samples[i].text += texts[i].add(id);
    return !texts[i].has_stopped();
  };
  const ElapsedLine elapsed("generating");
  const auto ids = generate(model, prompt, options);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].text += texts[i].end();
    samples[i].ids = ids[i];
  }
  return samples;
}

void generate_command(const GenerateOptions& options) {
  check_sampling(options.generation.sampling);
  const TaskFacts& facts =
      task_facts(definition_of_run(options.model, options.opening.checkpoint).task);
  if (!facts.causal) {
    throw_usage(options.model, fmt::format("is a run with task {}, wanted causal_lm", facts.name),
                "`roformer fill-mask` fills the gaps of a masked language model, `roformer "
                "translate` translates");
  }
  const TrainedModel trained = open_run_of<LanguageModel>(options.model, options.opening);
  const Tokenizer& tokenizer = *trained.tokenizer;
  const std::string text_before = prompt_text(options.prompt);
  const std::vector<std::int64_t> prompt =
      options.chat ? chat_ids(text_before, options, tokenizer)
                   : prompt_ids(text_before, options.literal,
                                trained.settings.decoding.prompt_start, tokenizer);
  // Shows a continued text with its prompt, but an answer alone.
  const std::vector<std::int64_t> shown = options.chat ? std::vector<std::int64_t>() : prompt;
  require_positions(trained.settings, "--tokens",
                    static_cast<std::int64_t>(prompt.size()) + options.generation.tokens);

  GenerationOptions generation = options.generation;
  const SpecialTokens& special = tokenizer.special();
  generation.vocabulary = tokenizer.vocabulary_size();
  generation.ends = text_ends(tokenizer, trained.settings.decoding.end_tokens);
  generation.excluded = {special.padding, special.unknown, special.classification, special.mask};
  std::erase_if(generation.excluded, [&](std::int64_t id) {
    return std::ranges::find(generation.ends, id) != generation.ends.end();
  });
  if (options.ignore_end) generation.ends.clear();
  InferenceWeights weights;
  trained.model->add_to(weights, trained.weight_form);
  const InferenceWeights::Use use(&weights);
  const auto new_model = [&] {
    return NextToken(
        {.stack = trained.model->encoder(),
         .head = trained.model->head(),
         .precision = trained.model->plan().precision,
         .expected_length = static_cast<std::int64_t>(prompt.size()) + options.generation.tokens});
  };
  const auto begin = std::chrono::steady_clock::now();
  std::size_t tokens = 0;
  if (generation.samples == 1 && !options.json) {
    GeneratedText text(tokenizer, shown, options.stops);
    Typewriter typewriter(text);
    generation.on_token = [&](std::int64_t, std::int64_t id) {
      typewriter.add(id);
      return !text.has_stopped();
    };
    NextToken model = new_model();
    tokens = generate(model, prompt, generation).front().size();
  } else {
    for (std::int64_t first = 0; first < options.generation.samples; first += kSideBySide) {
      generation.first_sample = first;
      generation.samples = std::min(kSideBySide, options.generation.samples - first);
      for (Sample& sample :
           make_samples(generation, prompt, shown, options.stops, tokenizer, new_model())) {
        tokens += sample.ids.size();
        print_sample(sample, text_before, options.json);
      }
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  log::info("{} tokens in {:.2f} s ({:.0f} tokens/s)", tokens, seconds,
            static_cast<double>(tokens) / seconds);
}

}  // namespace

void add_generate_command(CLI::App& program) {
  auto options = std::make_shared<GenerateOptions>();
  CLI::App* command =
      add_listed_command(program, "generate",
                         "A text ends where the model ends a document, before "
                         "--stop, or after --tokens. The same seed gives the same text. If the "
                         "model draws positions for the whole text, --tokens "
                         "must be the same too.\n");
  GenerationOptions& generation = options->generation;
  command->add_option("run", options->model, "folder of a run or of a checkpoint")->required();
  command->add_option(
      "prompt", options->prompt,
      "the text to continue; -: read it from standard input; without: a new document");
  CLI::Option* const literal = command->add_flag(
      "--literal", options->literal,
      "read names of special tokens in the prompt, such as <|im_start|>, as plain letters");
  CLI::Option* const chat =
      command
          ->add_flag("--chat", options->chat,
                     "the prompt is a message, written as the chat template of the imported model "
                     "says; only the answer is printed")
          ->excludes(literal);
  command->add_option("--system", options->system, "with --chat: the system's message")
      ->type_name("TEXT")
      ->needs(chat);
  command->add_option("--tokens", generation.tokens, "tokens to add at most")
      ->check(positive())
      ->capture_default_str();
  add_sampling_flags(*command, generation.sampling, generation.seed);
  command
      ->add_option("--stop", options->stops,
                   "end before this text; several times: before the first of several (`ids` still "
                   "has its tokens)")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, ""));
  command->add_option("--samples", generation.samples, "texts, side by side")
      ->check(positive())
      ->capture_default_str();
  add_opening_flags(*command, options->opening);
  command->add_flag("--ignore-end", options->ignore_end,
                    "continue with the next document where the model ends one");
  add_int8_flag(*command, options->opening.int8);
  command->add_flag("--json", options->json, "one object per sample");
  accept_settings(*command, options->opening.overrides, trained_model_flags());
  command->callback([options] { generate_command(*options); });
}

}  // namespace roformer
