// What `model.from` points to: a run, a checkpoint or a folder of Hugging Face's, opened to start a
// training from. Its shape, scheme and tokenizer become the run's where nothing else is given; its
// weights fill the parameters of the same name.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/settings.h"
#include "tensor/parameters.h"
#include "text/tokenizer.h"

namespace roformer {

struct ModelSource {
  std::filesystem::path folder;                // the checkpoint's, or Hugging Face's
  Settings settings;                           // model.vocabulary is that of the weights
  std::map<std::string, at::Tensor> weights;   // by the names of this program
  std::shared_ptr<const Tokenizer> tokenizer;  // a translator's: the target's
  // Of a classifier of GLUE: the word of its task ("mnli"), empty where a folder does not say it,
  // and the names of its classes in the order of the head's rows.
  std::string classified = {};
  std::vector<std::string> labels = {};
};

// A run means its best checkpoint. Warns of what a folder of Hugging Face's holds and this program
// has no place for. Throws Error: usage for what is none of the three, failure for what is not
// whole.
ModelSource open_model_source(const std::filesystem::path& from);

// The keys that the source gives to a run: model.*, attention.*, the scheme with its options, and
// the head of a classifier. For load_settings. Reads no weights and warns of nothing; throws as
// open_model_source does where the folder is none of the three or its list of weights is damaged.
std::vector<Override> model_source_keys(const std::filesystem::path& from);

// Whether a key of model.* or attention.* says what the model is, and not how a run trains it.
bool is_of_model(const std::string& key);

// Of what open_model_source would read, so that a source that was trained anew is told from the old
// one: 16 hexadecimal digits. Reads the weights of a folder without checksums of them. Throws
// Error.
std::string model_source_fingerprint(const std::filesystem::path& from);

// Fills the parameters that the source has. Returns a line that says which are new (they keep the
// initial values of the run's seed) and which of the source's are not used. New is a classifier of
// another task, too, and a head of another shape; classes come into the task's order. Throws Error
// (usage) where a shape differs otherwise.
std::string start_from(const ModelSource& source, const Settings& settings,
                       ParameterStore& parameters);

// Warns where a run's tokenizer is another one than the source's.
void compare_tokenizers(const ModelSource& source, const Tokenizer& tokenizer);

}  // namespace roformer
