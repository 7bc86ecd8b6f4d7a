#include "data/overlap.h"

#include <memory>

#include "catch.h"
#include "data/prepare.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("Spans that a held-out set shares with the training set are counted in documents") {
  const TemporaryFolder folder;
  write_text(folder.path / "train.txt", "abcdefgh\n\nxyz\n\ncdefzz\n");
  write_text(folder.path / "test.txt", "__cdef\n\nxy\n\nzabc\n");
  const std::unique_ptr<Tokenizer> bytes = open_tokenizer({.kind = TokenizerKind::bytes});
  prepare({.corpus = {.inputs = {folder.path / "train.txt"}},
           .validation_inputs = {},
           .test_inputs = {folder.path / "test.txt"},
           .validation_fraction = 0,
           .output = folder.path / "set",
           .name = "letters"},
          *bytes);
  const Dataset dataset(folder.path / "set");
  // The last token of a document marks its end. The spans of "zabc" begin in its document, not in
  // the one before.
  const Overlap three = overlap_with_training(dataset, Split::test, 3);
  CHECK(three.spans == 9);
  CHECK(three.shared == 3);
  CHECK(three.places == 5);
  const Overlap five = overlap_with_training(dataset, Split::test, 5);
  CHECK(five.spans == 4);
  CHECK(five.shared == 0);
  CHECK(five.places == 0);
}
