// The help of LibreOffice in two languages as sentence pairs: paragraphs of the same file and id.
#pragma once

#include <filesystem>

#include "data/pair_source.h"

namespace roformer {

// The folders of HTML pages of each language. A page is one file of the source language.
PairReading read_help_pairs(const std::filesystem::path& source,
                            const std::filesystem::path& target, PairSink& sink);

}  // namespace roformer
