// Unicode's normal forms as Hugging Face's tokenizers apply them: those of Unicode 9, so that code
// points of later versions stay as they are.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace roformer {

class NormalForm {
 public:
  // "NFC", "NFD", "NFKC" or "NFKD".
  explicit NormalForm(const std::string& name);
  ~NormalForm();
  NormalForm(NormalForm&&) noexcept;
  NormalForm& operator=(NormalForm&&) noexcept;

  // Of valid UTF-8.
  std::string apply(std::string_view text) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace roformer
