// The help of LibreOffice in two languages as sentence pairs: paragraphs of the same file and id.
#pragma once

#include <filesystem>

#include "data/pair_source.h"

namespace roformer {

// The folders of HTML pages of each language. A page is one file of the source language. Links that
// lead out of the folders are followed only where that is asked for.
PairReading read_help_pairs(const std::filesystem::path& source,
                            const std::filesystem::path& target, bool follow_links, PairSink& sink);

}  // namespace roformer
