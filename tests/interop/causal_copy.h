// What tests of causal models' folders share: their config.json, and copies to be spoiled.
#pragma once

#include <string>

#include "interop/folder_copy.h"

namespace roformer {

inline FolderConfig parse_causal_config(const std::string& text,
                                        const std::string& file = "config.json") {
  return parse_folder_config({.text = text, .file = file});
}

// A copy of a fixture to be spoiled, its weights in one file.
struct CausalCopy : FolderCopy {
  using FolderCopy::FolderCopy;
  PretrainedModel read() const { return read_hugging_face_folder(folder.path); }
};

}  // namespace roformer
