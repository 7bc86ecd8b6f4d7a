#include "data/prepare.h"

#include <nlohmann/json.hpp>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "data/batches.h"
#include "fixture.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// Documents "document 0", "document 1 1", … of different length.
std::string sample_text(int documents) {
  std::string text;
  for (int i = 0; i < documents; ++i) {
    text += "document";
    for (int word = 0; word <= i % 7; ++word) text += " " + std::to_string(i);
    text += "\nits second line\n\n";
  }
  return text;
}

// Letters and the special pieces, which no line end is among.
std::unique_ptr<Tokenizer> letter_tokenizer(const TemporaryFolder& folder) {
  const fs::path file = folder.path / "vocab.txt";
  write_text(file, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\n");
  return open_tokenizer({.kind = TokenizerKind::wordpiece, .file = file});
}

// The documents of a split, read back through the shards.
std::vector<std::string> decoded_documents(const Dataset& dataset, Split split) {
  std::vector<std::string> documents;
  for (const Shard& shard : dataset.shards(split)) {
    for (std::size_t i = 0; i < shard.documents(); ++i) {
      const std::uint64_t begin = shard.document_starts()[i];
      std::vector<TokenId> ids(shard.document_starts()[i + 1] - begin);
      shard.copy_tokens(begin, ids);
      documents.push_back(dataset.tokenizer().decode(ids));
    }
  }
  return documents;
}

PrepareOptions options_for(const fs::path& input, const fs::path& output) {
  return {.corpus = {.inputs = {input}},
          .validation_inputs = {},
          .validation_fraction = 0.25,
          .output = output,
          .name = "sample"};
}

std::string message_of_prepare(const PrepareOptions& options) {
  try {
    prepare(options, *byte_tokenizer());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("A prepared folder gives back the documents, each in the split of its hash") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(200));
  const PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "out");
  const DatasetDescription made = prepare(options, *byte_tokenizer());
  const Dataset dataset(folder.path / "out");
  dataset.verify_checksums();

  std::vector<std::string> wanted[3];
  std::uint64_t characters = 0;
  const std::string all = sample_text(200);
  std::size_t place = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::size_t end = all.find("\n\n", place);
    const std::string document = all.substr(place, end + 1 - place);
    characters += document.size();
    wanted[static_cast<int>(split_of(i, {.validation = 0.25}, 1))].push_back(document);
    place = end + 2;
  }
  CHECK(decoded_documents(dataset, Split::train) == wanted[0]);
  CHECK(decoded_documents(dataset, Split::validation) == wanted[1]);
  CHECK(wanted[1].size() > 25);
  CHECK(wanted[1].size() < 75);
  CHECK(made[Split::train].counts.characters + made[Split::validation].counts.characters ==
        characters);
  CHECK(dataset.description().fingerprint == made.fingerprint);
  CHECK_FALSE(fs::exists(folder.path / "out.partial"));
}

TEST_CASE("Threads, blocks and the size of shards do not change the tokens") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(60000));  // several blocks
  PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "one");
  const DatasetDescription one = prepare(options, *byte_tokenizer());
  options.output = folder.path / "two";
  options.threads = 2;
  const DatasetDescription two = prepare(options, *byte_tokenizer());
  CHECK(one.fingerprint == two.fingerprint);
  for (const Split split : {Split::train, Split::validation}) {
    CHECK(one[split].shard_checksums == two[split].shard_checksums);
    CHECK(one[split].counts.tokens == two[split].counts.tokens);
  }
  options.output = folder.path / "small";
  options.shard_tokens = 100'000;
  const DatasetDescription small = prepare(options, *byte_tokenizer());
  CHECK(small[Split::train].shard_checksums.size() > 10);
  const Dataset a(folder.path / "one");
  const Dataset b(folder.path / "small");
  CHECK(decoded_documents(a, Split::train) == decoded_documents(b, Split::train));

  // Rows that cross the ends of shards are the same rows.
  const RowOptions row_options{.length = 1000, .begin_with_classification = true, .overlap = 1};
  const Rows rows_a(a, Split::train, row_options);
  const Rows rows_b(b, Split::train, row_options);
  REQUIRE(rows_a.size() == rows_b.size());
  bool same = true;
  for (std::int64_t i = 0; i < rows_a.size(); ++i) {
    same = same && rows_a[i].ids == rows_b[i].ids &&
           rows_a[i].document_starts == rows_b[i].document_starts;
  }
  CHECK(same);
}

TEST_CASE("A folder that cannot be read is not said to lack a file") {
  const TemporaryFolder folder;
  fs::create_symlink("loop", folder.path / "loop");
  CHECK_THROWS_WITH(Dataset(folder.path / "loop"), Catch::Contains("loop: cannot read: "));
  fs::create_directory(folder.path / "empty");
  CHECK_THROWS_WITH(Dataset(folder.path / "empty"), Catch::Contains("it has no dataset.json"));
}

TEST_CASE("A data set that is there is kept, and an interrupted one does not count") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(40));
  PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "out");
  prepare(options, *byte_tokenizer());
  CHECK_THROWS_WITH(prepare(options, *byte_tokenizer()),
                    (folder.path / "out").string() +
                        ": exists already (hint: replace it with --overwrite, or choose another "
                        "--output)");
  // A run that fails half-way leaves the old one whole.
  options.overwrite = true;
  options.corpus.inputs.push_back(folder.path / "binary");
  write_text(folder.path / "binary", std::string(10, '\0'));
  CHECK_THROWS_AS(prepare(options, *byte_tokenizer()), Error);
  CHECK(Dataset(folder.path / "out").description().name == "sample");
  CHECK_FALSE(fs::exists(folder.path / "out.partial"));
  // What a killed run left is no obstacle.
  write_text(folder.path / "out.lock", "roformer process 1\n");
  write_text(folder.path / "out.partial" / "train-00007.bin", "half");
  options.corpus.inputs.pop_back();
  options.name = "new";
  prepare(options, *byte_tokenizer());
  CHECK(Dataset(folder.path / "out").description().name == "new");
  CHECK_FALSE(fs::exists(folder.path / "out" / "train-00007.bin"));
  CHECK_FALSE(fs::exists(folder.path / "out.lock"));
}

TEST_CASE("A folder with other things in it is never replaced") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(40));
  PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "out/");
  options.overwrite = true;
  write_text(folder.path / "out" / "thesis.txt", "mine");
  CHECK_THROWS_AS(prepare(options, *byte_tokenizer()), Error);
  fs::remove_all(folder.path / "out");
  prepare(options, *byte_tokenizer());
  prepare(options, *byte_tokenizer());
  for (const char* mine : {"thesis.txt", "another/dataset.json"}) {
    write_text(folder.path / "out" / mine, "mine");
    CHECK_THROWS_AS(prepare(options, *byte_tokenizer()), Error);
    CHECK(fs::exists(folder.path / "out" / mine));
    fs::remove(folder.path / "out" / mine);
    fs::remove(folder.path / "out" / "another");
  }
  fs::remove_all(folder.path / "out");
  write_text(folder.path / "out.partial" / "thesis.txt", "mine");
  CHECK_THROWS_AS(prepare(options, *byte_tokenizer()), Error);
  CHECK(fs::exists(folder.path / "out.partial" / "thesis.txt"));
}

TEST_CASE("A split without documents is refused, and leaves nothing") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", "one document");
  const PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "out");
  CHECK_THROWS_AS(prepare(options, *byte_tokenizer()), Error);
  CHECK_FALSE(fs::exists(folder.path / "out"));
  CHECK_FALSE(fs::exists(folder.path / "out.partial"));
}

TEST_CASE("A folder whose parts do not belong together is refused") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(40));
  PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "out");
  prepare(options, *byte_tokenizer());
  options.output = folder.path / "other";
  options.seed = 2;
  prepare(options, *byte_tokenizer());
  const fs::path shard = folder.path / "out" / "train-00000.bin";
  const auto complaint = [&] {
    try {
      const Dataset dataset(folder.path / "out");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  fs::rename(shard, folder.path / "saved");
  CHECK(complaint().starts_with(shard.string() + ": cannot read: No such file"));
  fs::copy_file(folder.path / "other" / "train-00000.bin", shard);
  CHECK(complaint().starts_with(shard.string() + ": does not belong to this data set"));
  fs::remove(shard);
  fs::rename(folder.path / "saved", shard);
  CHECK(complaint().empty());

  const fs::path description = folder.path / "out" / "dataset.json";
  const std::string json = read_checksummed_json(description).dump(2);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = json;
    const std::size_t place = changed.find(from);
    REQUIRE(place != std::string::npos);
    write_text(description, changed.replace(place, from.size(), to));
    return complaint();
  };
  const std::string begin = description.string() + ": ";
  CHECK(with("roformer dataset", "other dataset").starts_with(begin + "is not a data set"));
  CHECK(with("\"version\": 2", "\"version\": 9").starts_with(begin + "has version 9"));
  CHECK(
      with("\"documents\": ", "\"documents\": -1").starts_with(begin + "\"test.documents\" is -1"));
  CHECK(with("\"seed\": 1", "\"seed\": \"1\"")
            .starts_with(begin + "\"seed\" is \"1\", wanted a non-negative integer"));
  CHECK(with("\"fingerprint\": \"", "\"fingerprint\": \"x")
            .starts_with(begin + "\"fingerprint\" is \"x"));
  CHECK(with("\"tokens\": ", "\"tokens\": 1").find("dataset.json says") != std::string::npos);
  CHECK(with("{", "").starts_with(begin + "is not JSON"));
  for (std::size_t size = 0; size + 2 < json.size(); size += 7) {
    write_text(description, json.substr(0, size));
    REQUIRE_FALSE(complaint().empty());
  }
}

TEST_CASE("Files can be named as the validation set") {
  const TemporaryFolder folder;
  write_text(folder.path / "train", "a\n\nb\n\nc\n");
  write_text(folder.path / "valid", "d\n");
  PrepareOptions options = options_for(folder.path / "train", folder.path / "out");
  options.validation_inputs = {folder.path / "valid"};
  prepare(options, *byte_tokenizer());
  const Dataset dataset(folder.path / "out");
  CHECK(decoded_documents(dataset, Split::train) == std::vector<std::string>{"a\n", "b\n", "c\n"});
  CHECK(decoded_documents(dataset, Split::validation) == std::vector<std::string>{"d\n"});
}

TEST_CASE("Files that are held out are no part of a folder of input, and neither is the output") {
  const TemporaryFolder folder;
  write_text(folder.path / "in" / "a", "a\n\nb\n");
  write_text(folder.path / "in" / "valid", "c\n");
  write_text(folder.path / "in" / "test", "d\n");
  PrepareOptions options = options_for(folder.path / "in", folder.path / "in" / "out");
  options.validation_inputs = {folder.path / "in" / "valid"};
  options.test_inputs = {folder.path / "in" / "." / "test"};
  for (const bool again : {false, true}) {
    options.overwrite = again;
    const DatasetDescription made = prepare(options, *byte_tokenizer());
    CHECK(made.files == 3);
    const Dataset dataset(folder.path / "in" / "out");
    CHECK(decoded_documents(dataset, Split::train) == std::vector<std::string>{"a\n", "b\n"});
    CHECK(decoded_documents(dataset, Split::validation) == std::vector<std::string>{"c\n"});
    CHECK(decoded_documents(dataset, Split::test) == std::vector<std::string>{"d\n"});
  }
  options.test_inputs = options.validation_inputs;
  options.overwrite = true;
  CHECK(has(said([&] { prepare(options, *byte_tokenizer()); }),
            "is among the files of --validation and of --test"));
  options.test_inputs = {};
  options.validation_inputs = {folder.path / "in"};
  CHECK(has(message_of_prepare(options), "all files of the input are held out"));
  options.corpus.inputs = options.validation_inputs = {folder.path / "in" / "valid"};
  CHECK(has(said([&] { prepare(options, *byte_tokenizer()); }), "is trained on, and held out"));
}

TEST_CASE("The share of a set that files are named for leaves its documents to the others") {
  const TemporaryFolder folder;
  write_text(folder.path / "in", sample_text(100));
  write_text(folder.path / "valid", "c\n");
  PrepareOptions options = options_for(folder.path / "in", folder.path / "out");
  options.test_fraction = 0.85;  // and a quarter, which is not dealt
  CHECK(has(message_of_prepare(options), "leaves nothing to train on"));
  options.validation_inputs = {folder.path / "valid"};
  CHECK(message_of_prepare(options).empty());
}

TEST_CASE("Characters are those that the tokenizer sees, without its line ends") {
  const TemporaryFolder folder;
  write_text(folder.path / "text", "ab\nb \xc3\xa4\n\nb\n");
  PrepareOptions options = options_for(folder.path / "text", folder.path / "pieces");
  options.validation_fraction = 0;
  const DatasetDescription pieces = prepare(options, *letter_tokenizer(folder));
  CHECK(pieces[Split::train].counts.characters == 6);
  CHECK(pieces[Split::train].counts.bytes == 7);
  options.output = folder.path / "bytes";
  const DatasetDescription bytes = prepare(options, *byte_tokenizer());
  CHECK(bytes[Split::train].counts.characters == 9);
  CHECK(bytes[Split::train].counts.bytes == 10);
}

TEST_CASE("A data set of an earlier version says that its characters include line ends") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(40));
  prepare(options_for(folder.path / "text.txt", folder.path / "out"), *byte_tokenizer());
  CHECK_FALSE(read_description(folder.path / "out").counts_line_ends);
  nlohmann::json json = read_checksummed_json(folder.path / "out" / "dataset.json");
  json["version"] = 1;
  for (const char* name : {"files", "files_skipped"}) json.erase(name);
  for (const char* split : {"train", "validation"}) json[split].erase("unknown");
  write_checksummed_json(folder.path / "out" / "dataset.json", json);
  CHECK(Dataset(folder.path / "out").description().counts_line_ends);
}

TEST_CASE("A repeated line of the training files is none of the validation files") {
  const TemporaryFolder folder;
  write_text(folder.path / "train", "a\n\nb\n\na\n");
  write_text(folder.path / "valid", "b\nc\nc\n");
  PrepareOptions options = options_for(folder.path / "train", folder.path / "out");
  options.validation_inputs = {folder.path / "valid"};
  options.corpus.remove_repeats = true;
  const DatasetDescription made = prepare(options, *byte_tokenizer());
  const Dataset dataset(folder.path / "out");
  CHECK(decoded_documents(dataset, Split::train) == std::vector<std::string>{"a\n", "b\n"});
  CHECK(decoded_documents(dataset, Split::validation) == std::vector<std::string>{"c\n"});
  CHECK(made.repeats_removed == 3);
}

TEST_CASE("A share of the tokens that is far from that of the documents is said") {
  const TemporaryFolder folder;
  // The documents of the validation set are long, or all alike.
  const auto text = [](std::size_t length) {
    std::string all;
    for (std::uint64_t i = 0; i < 100; ++i) {
      all += std::string(split_of(i, {.validation = 0.25}, 1) == Split::validation ? length : 10,
                         'a') +
             "\n\n";
    }
    return all;
  };
  write_text(folder.path / "even", text(10));
  write_text(folder.path / "long", text(100));
  PrepareOptions options = options_for(folder.path / "even", folder.path / "a");
  CHECK_FALSE(has(said([&] { prepare(options, *byte_tokenizer()); }), "of the tokens"));
  options.corpus.inputs = {folder.path / "long"};
  options.output = folder.path / "b";
  CHECK(has(said([&] { prepare(options, *byte_tokenizer()); }), "the validation set has 7"));
  options.validation_fraction = 0;
  options.output = folder.path / "c";
  CHECK(has(said([&] { prepare(options, *byte_tokenizer()); }), "there is no validation set"));
}

TEST_CASE("Pieces that the vocabulary lacks are counted, and said where they are many") {
  const TemporaryFolder folder;
  write_text(folder.path / "text", "a b a b\n\na b c b\n");
  PrepareOptions options = options_for(folder.path / "text", folder.path / "out");
  options.validation_fraction = 0;
  DatasetDescription made;
  const std::string words = said([&] { made = prepare(options, *letter_tokenizer(folder)); });
  CHECK(made[Split::train].counts.unknown == 1);
  CHECK(made[Split::train].counts.tokens == 8);
  CHECK(has(words, "12 % of the tokens are the unknown piece"));
  CHECK(read_description(folder.path / "out")[Split::train].counts.unknown == 1);
}

TEST_CASE("A test set is dealt beside the validation set, which stays as it was") {
  const TemporaryFolder folder;
  write_text(folder.path / "text.txt", sample_text(200));
  PrepareOptions options = options_for(folder.path / "text.txt", folder.path / "two");
  prepare(options, *byte_tokenizer());
  options.output = folder.path / "three";
  options.test_fraction = 0.25;
  prepare(options, *byte_tokenizer());
  const Dataset two(folder.path / "two"), three(folder.path / "three");
  CHECK(decoded_documents(two, Split::validation) == decoded_documents(three, Split::validation));
  const auto train = decoded_documents(three, Split::train);
  const auto test = decoded_documents(three, Split::test);
  CHECK(test.size() > 25);
  CHECK(test.size() < 75);
  CHECK(train.size() + test.size() == decoded_documents(two, Split::train).size());
  CHECK(three.description().test_fraction == 0.25);
  three.require(Split::test);
  CHECK_THROWS_WITH(
      two.require(Split::test),
      (folder.path / "two").string() +
          ": has no test set (hint: prepare it with --test-fraction or --test FILES)");
  options.test_fraction = 0.75;
  CHECK_THROWS_AS(prepare(options, *byte_tokenizer()), Error);
}

TEST_CASE("Files can be named as the test set, and a set without one is read as before") {
  const TemporaryFolder folder;
  write_text(folder.path / "train", "a\n\nb\n\nc\n");
  write_text(folder.path / "valid", "d\n");
  write_text(folder.path / "test", "e\n\nf\n");
  PrepareOptions options = options_for(folder.path / "train", folder.path / "out");
  options.validation_inputs = {folder.path / "valid"};
  options.test_inputs = {folder.path / "test"};
  prepare(options, *byte_tokenizer());
  {
    const Dataset dataset(folder.path / "out");
    CHECK(decoded_documents(dataset, Split::train).size() == 3);
    CHECK(decoded_documents(dataset, Split::validation) == std::vector<std::string>{"d\n"});
    CHECK(decoded_documents(dataset, Split::test) == std::vector<std::string>{"e\n", "f\n"});
  }
  nlohmann::json json = read_checksummed_json(folder.path / "out" / "dataset.json");
  for (const char* name : {"test", "test_fraction"}) json.erase(name);
  write_checksummed_json(folder.path / "out" / "dataset.json", json);
  CHECK(Dataset(folder.path / "out").description()[Split::test].counts.tokens == 0);
}

namespace {

// Of a set that one file was divided into, with nothing lost between the documents.
std::string text_of(const Dataset& dataset, Split split) {
  std::string text;
  for (const std::string& document : decoded_documents(dataset, split)) text += document;
  return text;
}

}  // namespace

TEST_CASE("A file is divided by its bytes, and every byte of it is in one of the sets") {
  const TemporaryFolder folder;
  // What reading by lines would change: blank lines, spaces alone, carriage returns, no last end.
  std::string text = "\n\n  \n";
  while (text.size() < 1000) text += "a b\r\n\n\t\nlonger line of text\n";
  text.resize(1000);
  write_text(folder.path / "file", text);
  PrepareOptions options = options_for(folder.path / "file", folder.path / "out");
  options.corpus.reader = CorpusReader::verbatim;
  options.shares = {.bytes = {900, 50, 50}};
  const DatasetDescription whole = prepare(options, *byte_tokenizer());
  CHECK_FALSE(whole.prefix);
  CHECK(shown_name(whole) == "sample");
  const Dataset dataset(folder.path / "out");
  CHECK(text_of(dataset, Split::train) == text.substr(0, 900));
  CHECK(text_of(dataset, Split::validation) == text.substr(900, 50));
  CHECK(text_of(dataset, Split::test) == text.substr(950));
  CHECK(whole[Split::test].counts.bytes == 50);

  SECTION("a shorter file is a prefix, divided in the same shares") {
    write_text(folder.path / "prefix", text.substr(0, 200));
    options.corpus.inputs = {folder.path / "prefix"};
    options.output = folder.path / "short";
    prepare(options, *byte_tokenizer());
    const Dataset prefix(folder.path / "short");
    CHECK(text_of(prefix, Split::train) == text.substr(0, 180));
    CHECK(text_of(prefix, Split::validation) == text.substr(180, 10));
    CHECK(text_of(prefix, Split::test) == text.substr(190, 10));
    CHECK(shown_name(prefix.description()) == "sample, the first 200 of 1,000 bytes");
    options.overwrite = true;
    options.shares.begins_with = text.substr(0, 20);
    CHECK_NOTHROW(prepare(options, *byte_tokenizer()));
    options.shares.begins_with = "<mediawiki";
    CHECK(has(message_of_prepare(options), "neither the recipe's file nor a prefix of it"));
  }
  SECTION("no character is cut in two") {
    for (std::size_t i = 890; i < 905; i += 3) text.replace(i, 3, "\u4e2d");
    write_text(folder.path / "file", text);
    options.overwrite = true;
    const std::size_t begin = 902;  // a character begins at 899, and the next one here
    prepare(options, *byte_tokenizer());
    const Dataset other(folder.path / "out");
    CHECK(text_of(other, Split::train) == text.substr(0, begin));
    CHECK(text_of(other, Split::validation) == text.substr(begin, 950 - begin));
  }
  SECTION("the SHA-1 of a whole file is held against the recipe's") {
    options.overwrite = true;
    options.shares.sha1 = "0123";
    CHECK(has(message_of_prepare(options), "is not the recipe's file: SHA-1 "));
  }
  SECTION("what cannot be divided is refused") {
    options.overwrite = true;
    write_text(folder.path / "file", text + "!");
    CHECK(has(message_of_prepare(options), "has 1,001 bytes, the recipe's file has 1,000"));
    write_text(folder.path / "file", "short");
    CHECK(has(message_of_prepare(options), "is too short to be divided: 5 bytes"));
    options.corpus.inputs = {folder.path / "file", folder.path / "file"};
    CHECK(has(message_of_prepare(options), "only a single file can be divided by bytes"));
    options.corpus.inputs = {"-"};
    CHECK(has(message_of_prepare(options), "can be read only once"));
    options.corpus.inputs = {folder.path / "file"};
    options.shares = {};
    options.corpus.remove_repeats = true;
    CHECK(has(message_of_prepare(options), "the verbatim reader keeps every byte"));
  }
}
