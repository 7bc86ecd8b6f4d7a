// Labelled files of users: their columns, their classes, and the part that is held out.
#include "data/labelled_texts.h"

#include <set>

#include "base/error.h"
#include "catch.h"
#include "fixture.h"
#include "has.h"
#include "message_of.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

struct LabelledFile {
  TemporaryFolder folder;
  DataSettings data;
  ClassificationSettings settings;

  explicit LabelledFile(std::string_view text, const std::string& name = "train.csv") {
    data.train = folder.path / name;
    write_text(data.train, text);
  }
  void complete() { settings.classes = find_classes(data, settings); }
  std::string refused() {
    return message_of([&] {
      if (settings.classes.empty()) complete();
      read_labelled_splits(data, settings);
    });
  }
};

}  // namespace

TEST_CASE("classes are those of the data, numbers in their order") {
  LabelledFile words("text,label\na,spam\nb,ham\nc,spam\n");
  words.complete();
  CHECK(words.settings.classes == std::vector<std::string>{"ham", "spam"});
  LabelledFile numbers("text,label\na,10\nb,9\nc,-1\n");
  numbers.complete();
  CHECK(numbers.settings.classes == std::vector<std::string>{"-1", "9", "10"});
  LabelledFile several("text,labels\na,x|y\nb,\nc, y \n");
  several.settings.kind = TargetKind::multi;
  several.complete();
  CHECK(several.settings.classes == std::vector<std::string>{"x", "y"});
  CHECK(has(LabelledFile("text,label\na,x\nb,x\n").refused(), "has one class, \"x\""));
  CHECK(has(LabelledFile("text,label\na,x\nb,\n").refused(), "train.csv:3: has an empty label"));
}

TEST_CASE("columns have usual names, or those that the settings give") {
  LabelledFile pair("premise,hypothesis,label,id\na,b,x,1\n");
  const auto columns = text_columns(TableReader(pair.data.train, {}), pair.settings);
  CHECK(columns.first == 0);
  CHECK(columns.second == 1);
  LabelledFile two("label,whatever\nx,a\n");
  CHECK(text_columns(TableReader(two.data.train, {}), two.settings).first == 1);
  LabelledFile other("id,title,body,topic\n1,a,b,x\n2,c,d,y\n");
  CHECK(has(other.refused(), "classification.label: "));
  other.settings.label = "topic";
  other.settings.text = {"title", "body"};
  CHECK(text_columns(TableReader(other.data.train, {}), other.settings).second == 2);
  other.settings.text = {"titel"};
  CHECK(has(other.refused(), "did you mean title"));
}

TEST_CASE("a lone file is divided by the hashes of its texts, class by class") {
  std::string text = "text,label\n";
  for (int i = 0; i < 300; ++i) {
    text += "text " + std::to_string(i % 250) + "," + (i % 250 < 50 ? "rare" : "common") + "\n";
  }
  LabelledFile file(text);
  file.complete();
  file.data.validation_fraction = 0.2;
  const LabelledSplits splits = read_labelled_splits(file.data, file.settings);
  std::set<std::string> trained;
  std::array<int, 2> counts{};
  for (const LabelledText& example : splits.training.examples) trained.insert(example.first);
  for (const LabelledText& example : splits.validation.examples) {
    CHECK_FALSE(trained.contains(example.first));  // repeated texts stay together
    ++counts[static_cast<std::size_t>(example.label)];
  }
  CHECK(counts[0] >= 40);  // of 200 common ones
  CHECK(counts[0] <= 42);
  CHECK(counts[1] >= 20);  // of 100, each of whose texts occurs twice
  CHECK(counts[1] <= 22);
  CHECK(splits.training.examples.size() + splits.validation.examples.size() == 300);
  // Another order of the file divides it in the same way.
  const LabelledSplits again = read_labelled_splits(file.data, file.settings);
  CHECK(again.validation.examples.size() == splits.validation.examples.size());
}

TEST_CASE("equal texts are held out only if they are neither the class nor most of it") {
  std::string text = "text,label\n";
  for (int i = 0; i < 100; ++i) text += "text " + std::to_string(i) + ",x\n";
  for (int i = 0; i < 50; ++i) text += "always the same,y\n";
  for (int i = 0; i < 30; ++i) text += "often the same,z\n";
  for (int i = 0; i < 30; ++i) text += "other " + std::to_string(i) + ",z\n";
  LabelledFile file(text);
  file.complete();
  const LabelledSplits splits = read_labelled_splits(file.data, file.settings);
  std::array<int, 3> counts{};
  for (const LabelledText& example : splits.validation.examples) {
    ++counts[static_cast<std::size_t>(example.label)];
  }
  CHECK(counts == std::array{10, 0, 6});
}

TEST_CASE("empty names among several labels, and semicolons between columns, are refused") {
  LabelledFile gap("text,label\na,p||q\n");
  gap.settings.kind = TargetKind::multi;
  CHECK(has(gap.refused(), "has an empty label"));
  LabelledFile list("{\"text\": \"a\", \"label\": [\"p|q\"]}\n", "texts.jsonl");
  list.settings.kind = TargetKind::multi;
  CHECK(has(list.refused(), "has the label \"p|q\", but | separates labels"));
  CHECK(has(LabelledFile("text;label\na;x\n").refused(), "not by semicolons"));
}

TEST_CASE("a label that the training data do not have is refused with its line") {
  LabelledFile file("text,label\na,x\nb,y\nc,x\nd,y\n");
  file.complete();
  file.data.validation = file.folder.path / "dev.csv";
  write_text(file.data.validation, "text,label\na,x\nb,z\n");
  CHECK(has(file.refused(), "dev.csv:3: got label \"z\", wanted one of x, y"));
}

TEST_CASE("a regression has numbers as labels") {
  LabelledFile file("sentence1,sentence2,score\na,b, 1.5 \nc,d,-2e1\n");
  file.settings.kind = TargetKind::regression;
  const auto texts = read_labelled_texts(file.data.train, true, file.settings);
  CHECK(texts.pairs);
  CHECK(texts.examples[0].score == 1.5);
  CHECK(texts.examples[1].score == -20);
  write_text(file.data.train, "text,score\na,good\n");
  CHECK(has(message_of([&] { read_labelled_texts(file.data.train, true, file.settings); }),
            "train.csv:2: got score \"good\", wanted a number"));
}
