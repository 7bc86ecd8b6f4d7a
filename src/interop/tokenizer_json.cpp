#include "interop/tokenizer_json.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "interop/folder.h"

namespace roformer {

// A tokenizer.json that cannot be read is no loss where the same tokenizer is in another file.
std::unique_ptr<Tokenizer> open_model_file(const std::filesystem::path& model,
                                           const std::filesystem::path& whole,
                                           std::vector<std::string>& notes) {
  std::unique_ptr<Tokenizer> tokenizer = open_tokenizer({.file = model});
  if (whole.empty()) return tokenizer;
  std::unique_ptr<Tokenizer> larger;
  try {
    larger = open_tokenizer({.kind = TokenizerKind::byte_level, .file = whole});
  } catch (const Error&) {
    return tokenizer;
  }
  const std::int64_t more = larger->vocabulary_size() - tokenizer->vocabulary_size();
  if (more <= 0) return tokenizer;
  notes.push_back(fmt::format("its tokenizer.json is read, which has {} tokens more than {}", more,
                              model.filename().string()));
  return larger;
}

bool write_tokenizer_json(const Tokenizer& tokenizer, const TextFrame& frame,
                          const std::filesystem::path& folder, std::vector<std::string>& notes) {
  const HuggingFaceJson file = hugging_face_json(tokenizer, frame);
  notes.insert(notes.end(), file.notes.begin(), file.notes.end());
  if (file.contents.empty()) return false;
  write_file_atomically(folder / kTokenizerFile, file.contents);
  return true;
}

}  // namespace roformer
