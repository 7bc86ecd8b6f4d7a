// Opens the source that `model.from` names: a run, a checkpoint or a Hugging Face folder. A
// training starts from it. The run takes the source's shape, scheme and tokenizer unless other
// settings are given, and the source's weights fill the parameters of the same name.
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
  std::filesystem::path folder;                // of the checkpoint or of Hugging Face
  Settings settings;                           // model.vocabulary is the vocabulary of the weights
  std::map<std::string, at::Tensor> weights;   // under this program's names
  std::shared_ptr<const Tokenizer> tokenizer;  // for a translator: of the target
  // Only for a classifier: the word of its GLUE task ("mnli"; empty for other tasks and if the
  // folder does not name it) and the names of its classes in the order of the head's rows.
  std::string classified = {};
  std::vector<std::string> labels = {};
};

// Opens the best checkpoint if `from` is a run. Warns about the contents of a Hugging Face folder
// that this program cannot use. Throws Error: usage for a folder of another kind, failure for an
// incomplete one.
ModelSource open_model_source(const std::filesystem::path& from);

// The keys that the source gives to a run: model.*, attention.*, the scheme with its options, and
// the head of a classifier. load_settings calls this. Reads no weights and warns of nothing. Throws
// Error as open_model_source does if the folder is of another kind or its list of weights is
// damaged.
std::vector<Override> model_source_keys(const std::filesystem::path& from);

// Whether a key of model.* or attention.* says what the model is rather than how a run trains it.
bool is_of_model(const std::string& key);

// Fingerprint of everything that open_model_source would read, 16 hexadecimal digits. It changes
// when the source is trained again. Reads the weights if the folder has no checksums for them.
// Throws Error.
std::string model_source_fingerprint(const std::filesystem::path& from);

// Fills the parameters that the source has. Returns one line that names the new parameters (they
// keep the initial values of the run's seed) and the unused parameters of the source. The head
// counts as new if the source classifies for another task or its head has another shape. Classes
// are put into the order of the task. Throws Error (usage) for any other difference in shape.
std::string start_from(const ModelSource& source, const Settings& settings,
                       ParameterStore& parameters);

// Warns if a run's tokenizer differs from the source's.
void compare_tokenizers(const ModelSource& source, const Tokenizer& tokenizer);

}  // namespace roformer
