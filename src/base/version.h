// Which program this is: the version of the project and the commit it was built from.
#pragma once

namespace roformer {

// "0.1.0".
extern const char* const kVersion;
// Twelve hexadecimal digits, "-dirty" after them when tracked files had been changed; "unknown"
// when the sources were not in a git repository.
extern const char* const kCommit;

}  // namespace roformer
