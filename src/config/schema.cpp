#include "config/schema.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "config/position_facts.h"
#include "config/schemes/definition.h"
#include "config/schemes/options.h"
#include "config/task_facts.h"
#include "config/words.h"

namespace roformer {
namespace {

std::vector<std::string> decoder_names() {
  std::vector<std::string> names{"same"};
  for (std::string& name : position_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> cross_names() {
  std::vector<std::string> names{"none"};
  for (const PositionFacts& facts : position_facts()) {
    if (facts.cross_attention) names.emplace_back(facts.name);
  }
  return names;
}

Choice task_choice() {
  std::vector<std::string> names;
  for (const TaskFacts& facts : all_task_facts()) names.emplace_back(facts.name);
  return {.words = std::move(names),
          .set = [](Settings& settings,
                    std::size_t index) { settings.task = static_cast<TaskKind>(index); },
          .get = [](const Settings& settings) { return static_cast<std::size_t>(settings.task); }};
}

// The keys of the task, the run's place, the device and the seed.
std::vector<Key> general_keys() {
  return {
      make_key("task", task_choice(),
               {.help = "what is trained: mlm predicts masked tokens (BERT), causal_lm "
                        "the next token, classification, tagging and embedding learn from "
                        "labelled texts, glue is the benchmark, translation is an "
                        "encoder-decoder, matching finds the closer of two texts, probe and "
                        "masked_probe answer questions that are made on the fly"}),
      ROFORMER_KEY(run, {.help = "name of the run, a folder under `runs`; default: the name of "
                                 "the configuration file"}),
      ROFORMER_KEY(runs, {.help = "folder that holds the runs", .decides = Decides::nothing}),
      ROFORMER_KEY(seed, {.help = "decides initial weights, order of the data, masks and dropout"}),
      ROFORMER_KEY(device,
                   {.help = "auto takes a GPU where there is one", .decides = Decides::nothing}),
      ROFORMER_KEY(threads, {.unit = "threads",
                             .range = between(0, 4096),
                             .help = "threads for the computation; 0: all cores, or as many as the "
                                     "container's quota gives. Other numbers of threads round "
                                     "sums differently",
                             .decides = Decides::nothing}),
  };
}

// The keys that choose the schemes and one section of options for each scheme.
std::vector<Key> position_keys() {
  std::vector<Key> keys{
      ROFORMER_KEY(position.scheme, {.help = "how the model knows the order of the tokens; "
                                             "`roformer positions list` explains each",
                                     .words = position_names()}),
      ROFORMER_KEY(position.decoder,
                   {.help = "the scheme of a translator's decoder; same: position.scheme",
                    .words = decoder_names(),
                    .tasks = {TaskKind::translation}}),
      ROFORMER_KEY(
          position.cross,
          {.help = "scheme whose rotations cross-attention uses (RoFormer leaves it unrotated; "
                   "rope: source and target positions each count from their own start)",
           .words = cross_names(),
           .tasks = {TaskKind::translation}}),
  };
  for (const SchemeDefinition& scheme : scheme_definitions()) {
    if (!scheme.options) continue;
    std::vector<Key> options = scheme.options(
        {.name = "position." + std::string(scheme.facts.name), .position = &Settings::position});
    keys.insert(keys.end(), std::make_move_iterator(options.begin()),
                std::make_move_iterator(options.end()));
  }
  return keys;
}

std::vector<Key> all_keys() {
  std::vector<Key> keys;
  using Part = std::vector<Key> (*)();
  const auto add = [&](std::vector<Key> rows) {
    std::move(rows.begin(), rows.end(), std::back_inserter(keys));
  };
  // A task's row applies to the task, unless the row names others.
  const auto add_tasks = [&](Part TaskFacts::*part) {
    for (const TaskFacts& task : all_task_facts()) {
      if (task.*part == nullptr) continue;
      std::vector<Key> rows = (task.*part)();
      for (Key& key : rows) {
        if (key.tasks.empty()) key.tasks = {task.task};
      }
      add(std::move(rows));
    }
  };
  add(general_keys());
  add(data_keys());
  add_tasks(&TaskFacts::keys);
  add(model_keys());
  add(position_keys());
  add_tasks(&TaskFacts::keys_after_model);
  add(training_keys());
  return keys;
}

}  // namespace

std::string Key::default_text() const {
  static const Settings defaults;
  // The path as written here; `get` would return the absolute one.
  if (type == KeyType::path) return name == "runs" ? defaults.runs.string() : "";
  return get(defaults);
}

std::string Key::type_text() const {
  switch (type) {
    case KeyType::integer:
      return range.words_of("integer");
    case KeyType::number:
      return range.words_of("number");
    case KeyType::boolean:
      return "true or false";
    case KeyType::text:
      return "text";
    case KeyType::path:
      return "path";
    case KeyType::period:
      return "period";
    case KeyType::word:
      return one_of(words);
    case KeyType::list:
      return "list";
  }
  return "";
}

std::string Key::scheme() const {
  constexpr std::string_view kSection = "position.";
  if (!name.starts_with(kSection)) return "";
  const std::size_t dot = name.find('.', kSection.size());
  return dot == std::string::npos ? "" : name.substr(kSection.size(), dot - kSection.size());
}

bool Key::applies_to(TaskKind task) const {
  return tasks.empty() || std::ranges::find(tasks, task) != tasks.end();
}

const std::vector<Key>& schema() {
  static const std::vector<Key> keys = all_keys();
  return keys;
}

const Key* find_key(std::string_view name) {
  static const auto index = [] {
    std::map<std::string, const Key*, std::less<>> made;
    for (const Key& key : schema()) made.emplace(key.name, &key);
    return made;
  }();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

std::vector<std::string> diff(const Settings& left, const Settings& right) {
  std::vector<std::string> names;
  for (const Key& key : schema()) {
    if (key.get(left) != key.get(right)) names.push_back(key.name);
  }
  return names;
}

}  // namespace roformer
