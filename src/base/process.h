// What a process of ours needs before anything else.
#pragma once

namespace roformer {

// A file that is opened must not become standard input or output because those were closed, and one
// that reaches the limit of its size is an error of the write, not the end of the process.
void prepare_process();

}  // namespace roformer
