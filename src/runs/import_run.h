// Makes a run of a Hugging Face folder (`roformer import`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "training/run_directory.h"

namespace roformer {

struct ImportedRun {
  std::filesystem::path path;
  std::string model;               // "RoFormer with a masked language head"
  std::int64_t parameters = 0;     // how many numbers
  std::vector<std::string> notes;  // one sentence each
};

// Makes runs/NAME from the folder, with one checkpoint at step 0. The task is mlm for an encoder or
// a masked language model, causal_lm for Llama and its siblings, glue or classification for a
// classifier, tagging for a tagger, embedding for a folder of sentence-transformers, and
// translation for MarianMT and T5. The overrides include `run`, and glue.task for a GLUE classifier
// whose folder does not name its task. If the folder lists the classes in another order than the
// task, the import reorders them. Throws Error as read_hugging_face_folder and RunDirectory do, and
// usage for keys that do not fit the folder; it then writes nothing.
ImportedRun import_run(const std::filesystem::path& folder, const std::vector<Override>& overrides,
                       ExistingRun existing);

}  // namespace roformer
