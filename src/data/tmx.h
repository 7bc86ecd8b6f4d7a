// Translation memories (TMX 1.4): an XML file of units, each with its text in several languages.
// The file is read as a stream, compressed or not.
#pragma once

#include <filesystem>

#include "data/sentence_pairs.h"

namespace roformer {

// A language matches its code with any region ("en" and "EN-US"); a code with a region matches the
// same region first. Text inside an editor's native codes (bpt, ept, ph, it, ut) is not part of the
// sentence. Throws Error (failure) naming file:line if the XML is damaged.
PairReading read_tmx(const std::filesystem::path& path, const PairLanguages& languages,
                     PairSink& sink);

}  // namespace roformer
