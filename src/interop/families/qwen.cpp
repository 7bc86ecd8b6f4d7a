// Qwen 2 and Qwen 3: Llama's layers with biases (Qwen 2) or norms (Qwen 3) of queries and keys.
// Defaults: transformers' configuration_qwen2.py and configuration_qwen3.py.
#include "interop/families/causal.h"
#include "interop/families/list.h"

namespace roformer {

Family qwen2_family() {
  return llama_like({.type = "qwen2",
                     .title = "Qwen 2",
                     .classes = "Qwen2",
                     .key_value_heads = 32,
                     .own_head_width = false,
                     .query_key_value_bias = true,
                     .defaults = {.positions = 32768}});
}

Family qwen3_family() {
  return llama_like({.type = "qwen3",
                     .title = "Qwen 3",
                     .classes = "Qwen3",
                     .key_value_heads = 32,
                     .head_width = 128,
                     .query_key_norm = true,
                     .attention_bias = true,
                     .defaults = {.positions = 32768}});
}

}  // namespace roformer
