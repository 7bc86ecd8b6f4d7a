// One interface for every way of turning text into ids: SentencePiece, WordPiece, byte-level BPE,
// characters and bytes. Encoding data never yields a special token, whatever the text contains;
// callers add them, and a prompt may name them.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/inner_path.h"
#include "config/data_settings.h"

namespace roformer {

using TokenId = std::int32_t;

// Ids of the special tokens; -1 if a vocabulary has none.
struct SpecialTokens {
  TokenId padding = -1;
  TokenId unknown = -1;
  TokenId classification = -1;  // [CLS], begins a sequence
  TokenId separator = -1;       // [SEP], ends a sequence or document
  TokenId mask = -1;            // [MASK]
  int pair_separators = 1;      // between the two texts of a pair; RoBERTa has 2
};

// A model's chat template in Hugging Face's form (text/chat_template.h), and the names that it
// uses. Empty if the model has none.
struct ChatFormat {
  std::string source;
  std::string begin;  // bos_token
  std::string end;    // eos_token

  bool operator==(const ChatFormat&) const = default;
};

// Whether the white space around a mask in a text belongs to the mask.
struct MaskSpaces {
  bool before = false, after = false;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the ids of the text, without special tokens. Invalid UTF-8 is replaced by U+FFFD and
  // counted (see invalid_sequences). Safe to call from several threads.
  virtual void encode(std::string_view text, std::vector<TokenId>& ids) const = 0;
  // The same as encode(), but the name of a special token in the text ("<|im_start|>") becomes that
  // token, as in transformers. Use it for a user's prompt to a model. Tokenizers whose special
  // tokens have no names in text encode as usual.
  virtual void encode_prompt(std::string_view text, std::vector<TokenId>& ids) const {
    encode(text, ids);
  }
  // The text of the ids. Special tokens are left out unless requested. Bytes come back unchanged,
  // valid UTF-8 or not (see decode_text).
  virtual std::string decode(std::span<const TokenId> ids, bool with_special = false) const = 0;

  virtual std::int64_t vocabulary_size() const = 0;
  // The vocabulary entry as it is written in the vocabulary file.
  virtual std::string piece(TokenId id) const = 0;
  virtual const SpecialTokens& special() const = 0;
  bool is_special(TokenId id) const;
  // True if the piece begins a word, for whole-word masking.
  virtual bool begins_word(TokenId id) const = 0;
  // For each id of a text, whether it begins a word. If the pieces alone do not say, as in Chinese,
  // their neighbours do. Sets the size of `begins`. Safe to call from several threads.
  virtual void find_words(std::span<const TokenId> ids, std::vector<char>& begins) const;
  virtual MaskSpaces mask_spaces() const { return {}; }
  // Whether the line ends of a text are tokens. Other tokenizers never see them.
  virtual bool keeps_line_ends() const { return false; }
  // The token that its file puts before every text; -1: none.
  virtual TokenId text_start() const { return -1; }
  virtual TokenizerKind kind() const = 0;
  // The contents of the model or vocabulary file; empty for bytes.
  virtual const std::string& file_contents() const = 0;
  // The name of that file in a saved folder ("vocab.txt"); empty for bytes, which have none.
  virtual std::string file_name() const { return file_name_of(kind()); }
  static std::string file_name_of(TokenizerKind kind);
  // Options that belong to the file, as text ("wordpiece uncased"), for storing and comparing.
  virtual std::string description() const = 0;
  // Hash of description and file contents: equal tokenizers, equal fingerprints.
  std::uint64_t fingerprint() const { return fingerprint(description(), file_contents()); }
  static std::uint64_t fingerprint(std::string_view description, std::string_view file_contents);
  // How many malformed UTF-8 sequences encode() has replaced so far, over all threads.
  std::uint64_t invalid_sequences() const { return invalid_sequences_.load(); }

  std::vector<TokenId> encode(std::string_view text) const {
    std::vector<TokenId> ids;
    encode(text, ids);
    return ids;
  }

  // How the tokenizer's model writes a conversation; saved with it. It changes no text's ids, so it
  // is not part of the fingerprint.
  const ChatFormat& chat() const { return chat_; }
  void set_chat(ChatFormat chat) { chat_ = std::move(chat); }

 protected:
  void count_invalid_sequences(std::uint64_t count) const {
    if (count > 0) invalid_sequences_.fetch_add(count, std::memory_order_relaxed);
  }

 private:
  mutable std::atomic<std::uint64_t> invalid_sequences_{0};
  ChatFormat chat_;
};

// The same as decode() without special tokens, but valid UTF-8: half a character becomes U+FFFD.
// Use it to process the text instead of only printing it.
std::string decode_text(const Tokenizer& tokenizer, std::span<const TokenId> ids);

// Whether both give the same pieces the same ids, however they split text.
bool same_vocabulary(const Tokenizer& a, const Tokenizer& b);

// The ids that end a text that a language model writes: the named ones (decoding.end_tokens), else
// the vocabulary's separator. Empty if it has none.
std::vector<std::int64_t> text_ends(const Tokenizer& tokenizer,
                                    const std::vector<std::int64_t>& named);

// Opens a model or vocabulary file, or a folder that save_tokenizer wrote; kind `automatic` looks
// at the contents. Throws Error naming a file that is no tokenizer.
std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerSettings& settings);

// Writes tokenizer.json (kind, options, file name, fingerprint), the model file and, if there is
// one, the chat template (chat_template.jinja) into a folder.
void save_tokenizer(const Tokenizer& tokenizer, const InnerPath& folder);
// The same for a folder that transformers' AutoTokenizer loads, too: roformer.json is this
// program's description, tokenizer.json and tokenizer_config.json are Hugging Face's. Falls back to
// save_tokenizer for a tokenizer that those cannot express.
void save_shared_tokenizer(const Tokenizer& tokenizer, const InnerPath& folder);
// Opens a tokenizer from such a folder. Every field is checked; Error names the file.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& folder);
// The names of the files that save_tokenizer writes, for all kinds.
std::vector<std::string> saved_tokenizer_names();
// True if one of these functions wrote the folder and nothing else is in it.
bool holds_only_tokenizer(const std::filesystem::path& folder);

}  // namespace roformer
