// Writes vectors, one row after the other, as a NumPy array, JSON Lines or tab-separated numbers.
// Rows are written as they come, so a file of any size takes little memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace roformer {

enum class VectorFormat {
  npy,    // float32 [rows, width], version 1.0 of NumPy's format, as numpy.load reads it
  jsonl,  // {"text": ..., "vector": [...]} a line
  tsv,    // the numbers of a vector with tabs between, a line
};

// "npy", "jsonl" or "tsv".
VectorFormat vector_format(std::string_view word);
// The format by the ending of the file's name; throws Error (usage) that names --format for another
// ending.
VectorFormat format_of_vector_file(const std::string& file);

// Throws Error (usage) for a NumPy array that goes to standard output ("-"): its header holds the
// number of rows, which is known at the end.
void require_vector_output(const std::string& file, VectorFormat format);

class VectorFile {
 public:
  // "-" is standard output. Throws Error as require_vector_output and AtomicFile do.
  VectorFile(const std::string& file, VectorFormat format, std::int64_t width);
  ~VectorFile();
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  void write(std::string_view text, std::span<const float> vector);
  std::int64_t rows() const { return rows_; }
  // Completes the file, which appears only now.
  void commit();

 private:
  VectorFormat format_;
  std::int64_t width_;
  std::int64_t rows_ = 0;
  std::unique_ptr<AtomicFile> file_;  // none for standard output

  void put(std::string_view bytes);
};

// The header of a NumPy array of float32 [rows, width] in C order: always 128 bytes.
std::string npy_header(std::int64_t rows, std::int64_t width);

}  // namespace roformer
