// Standard output, where results go. A result that is lost (a full disk, a closed file) must not
// look like a success: every command ends with finish_output().
#pragma once

namespace roformer {

// Writes out what std::cout and stdout still hold. Throws Error (failure) where any of it, or of
// what was written before, was lost.
void finish_output();

}  // namespace roformer
