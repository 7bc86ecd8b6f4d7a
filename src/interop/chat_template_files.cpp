#include "interop/chat_template_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "interop/folder.h"
#include "text/chat_template.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

// A text, or a list of templates with names, of which "default" is the one for a conversation.
std::string template_of(const json& config) {
  const json found = config.value("chat_template", json());
  if (found.is_string()) return found.get<std::string>();
  if (!found.is_array()) return "";
  for (const json& entry : found) {
    if (!entry.is_object() || entry.value("name", json()) != "default") continue;
    const json text = entry.value("template", json());
    if (text.is_string()) return text.get<std::string>();
  }
  return "";
}

// "<s>", or an object with its content; empty: none.
std::string name_of_token(const json& config, const char* key) {
  json value = config.value(key, json());
  if (value.is_object()) value = value.value("content", json());
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

ChatFormat read_chat_format(const fs::path& folder, std::vector<std::string>& notes) {
  const fs::path file = folder / "tokenizer_config.json";
  const json config = is_there(file) ? read_json(file) : json::object();
  if (!config.is_object()) throw_failure(file.string(), "is not a JSON object");
  std::error_code error;
  const fs::file_status found = fs::symlink_status(folder / kChatTemplateFile, error);
  ChatFormat chat = {.source = fs::exists(found) ? read_template_file(folder, TemplateLink::inside)
                                                 : template_of(config)};
  if (chat.source.empty()) return {};
  // A run would keep the template, and could not read it again.
  if (chat.source.size() > kLongestChatTemplate) {
    throw_failure(file.string(), "has a chat_template that is larger than 1 MiB");
  }
  chat.begin = name_of_token(config, "bos_token");
  chat.end = name_of_token(config, "eos_token");
  try {
    check_chat(chat);
  } catch (const Error& error) {
    notes.push_back(fmt::format("`roformer generate --chat` cannot compute its chat template: {}",
                                error.what()));
  }
  return chat;
}

void write_chat_format(const ChatFormat& chat, const fs::path& folder,
                       nlohmann::ordered_json& config) {
  if (chat.source.empty()) return;
  write_file_atomically(folder / kChatTemplateFile, chat.source);
  if (!chat.begin.empty() && !config.contains("bos_token")) config["bos_token"] = chat.begin;
  if (!chat.end.empty()) config["eos_token"] = chat.end;
}

}  // namespace roformer
