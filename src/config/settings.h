// The typed configuration: the result of a YAML file, its `extends` and the flags. config/ parses
// it once; no other module reads a key as a string. Every member is a key of the schema with the
// same path (`model.layers`, `position.rope.base`); the schema holds its unit, help and check. The
// sections are structs in headers of config/, beside their enumerations; words.h declares the texts
// of those.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/attention_settings.h"
#include "config/classification_settings.h"
#include "config/data_settings.h"
#include "config/decoding_settings.h"
#include "config/embedding_settings.h"
#include "config/glue_settings.h"
#include "config/matching_settings.h"
#include "config/model_settings.h"
#include "config/option_structs.h"
#include "config/position_settings.h"
#include "config/probe_settings.h"
#include "config/tagging_settings.h"
#include "config/tasks/list.h"
#include "config/training_settings.h"
#include "config/translation_settings.h"

namespace roformer {

// Registered tasks (task_facts.h) get the next numbers.
#define ROFORMER_TASK_NAME(name) name,
enum class TaskKind { ROFORMER_EACH_TASK(ROFORMER_TASK_NAME) };
#undef ROFORMER_TASK_NAME

struct Settings {
  TaskKind task = TaskKind::mlm;
  std::string run;                      // name under `runs`; empty: the file's name
  std::filesystem::path runs = "runs";  // folder that holds the runs
  std::uint64_t seed = 1;
  DeviceKind device = DeviceKind::automatic;
  std::int64_t threads = 0;  // 0: all cores

  TokenizerSettings tokenizer;
  DataSettings data;
  GlueSettings glue;
  ClassificationSettings classification;
  TaggingSettings tagging;
  EmbeddingSettings embedding;
  MatchingSettings matching;
  ProbeSettings probe;
  TranslationSettings translation;
  DecodingSettings decoding;
  ModelSettings model;
  AttentionSettings attention;
  PositionSettings position;
  TrainingSettings training;
  DistributedSettings distributed;
  OptionStructs registered_task;      // the options of a registered task
  std::vector<StageSettings> stages;  // empty: one stage with the settings above
};

}  // namespace roformer
