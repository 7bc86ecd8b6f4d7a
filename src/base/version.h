// The version of the project and the commit from which this program was built.
#pragma once

namespace roformer {

// "0.1.0".
extern const char* const kVersion;
// Twelve hexadecimal digits, followed by "-dirty" if tracked files had been changed; "unknown" if
// the sources were not in a git repository.
extern const char* const kCommit;

}  // namespace roformer
