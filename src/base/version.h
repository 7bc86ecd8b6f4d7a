// The version of the project and the commit from which this program was built.
#pragma once

namespace roformer {

// "0.2.0".
extern const char* const kVersion;
// What `git describe` says: the last version's tag, the commits since and twelve hexadecimal digits
// ("v0.2.0-3-g0123456789ab"), the digits alone if there is no tag, followed by "-dirty" if tracked
// files had been changed. "unknown" if the sources were not a git repository.
extern const char* const kCommit;
// "0.2.0 (v0.2.0-3-g0123456789ab)"; "0.2.0" if the commit is unknown.
extern const char* const kVersionAndCommit;

}  // namespace roformer
