#include "data/glue.h"

#include "base/error.h"
#include "catch.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;

namespace {

// In the form of the published files, with sentences of our own.
struct Folder {
  TemporaryFolder folder;
  void add(const char* name, std::string_view text) { write_text(folder.path / name, text); }
  LabelledTexts read(GlueTask task, GlueSplit split) { return read_glue(folder.path, task, split); }
  // The message without the folder.
  std::string complaint(GlueTask task, GlueSplit split = GlueSplit::train) {
    try {
      read(task, split);
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string begin = folder.path.string() + "/";
      REQUIRE(text.starts_with(begin));
      return text.substr(begin.size(), text.find(" (hint") - begin.size());
    }
    return "";
  }
};

}  // namespace

TEST_CASE("CoLA has no header but in its test file") {
  Folder folder;
  folder.add("CoLA/train.tsv", "gj04\t1\t\tOne \"two.\ngj04\t0\t*\tTwo one.");
  folder.add("CoLA/test.tsv", "index\tsentence\n0\tThree.\n1\tFour.\n");
  const LabelledTexts train = folder.read(GlueTask::cola, GlueSplit::train);
  REQUIRE(train.examples.size() == 2);
  CHECK(train.labelled);
  CHECK(train.examples[0].first == "One \"two.");
  CHECK(train.examples[0].label == 1);
  CHECK(train.examples[1].label == 0);
  const LabelledTexts test = folder.read(GlueTask::cola, GlueSplit::test);
  CHECK_FALSE(test.labelled);
  CHECK(test.examples[1].index == 1);
  CHECK(test.examples[1].first == "Four.");
  CHECK(test.examples[1].label == -1);
}

TEST_CASE("MRPC has a byte-order mark and quotation marks that mean nothing") {
  Folder folder;
  folder.add("MRPC/dev.tsv",
             "\xef\xbb\xbfQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
             "1\t2\t3\tHe said \" no\t\" Yes , she said .\r\n");
  const LabelledTexts read = folder.read(GlueTask::mrpc, GlueSplit::validation);
  REQUIRE(read.examples.size() == 1);
  CHECK(read.examples[0].first == "He said \" no");
  CHECK(read.examples[0].second == "\" Yes , she said .");
  CHECK(read.examples[0].label == 1);
}

TEST_CASE("Columns are found by name") {
  Folder folder;
  folder.add("MNLI/train.tsv",
             "index\tgenre\tsentence1\tsentence2\tlabel1\tgold_label\n"
             "5\tg\tA\tB\tneutral\tcontradiction\n");
  folder.add("MNLI/dev_mismatched.tsv",
             "index\tsentence1\tsentence2\tlabel1\tlabel2\tgold_label\n7\tC\tD\tx\ty\tneutral\n");
  folder.add("STS-B/train.tsv", "index\tgenre\tsentence1\tsentence2\tscore\n0\tg\tA\tB\t3.750\n");
  folder.add("QNLI/train.tsv", "index\tquestion\tsentence\tlabel\n0\tQ\tS\tnot_entailment\n");
  folder.add("WNLI/train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tQ\tS\t1\n");
  folder.add("SST-2/train.tsv", "sentence\tlabel\nfine \t1\n");
  const LabelledText mnli = folder.read(GlueTask::mnli, GlueSplit::train).examples[0];
  CHECK(mnli.index == 5);
  CHECK(mnli.second == "B");
  CHECK(mnli.label == 2);
  CHECK(folder.read(GlueTask::mnli, GlueSplit::validation_mismatched).examples[0].label == 1);
  CHECK(folder.read(GlueTask::stsb, GlueSplit::train).examples[0].score == 3.75);
  CHECK(folder.read(GlueTask::qnli, GlueSplit::train).examples[0].label == 1);
  CHECK(folder.read(GlueTask::qnli, GlueSplit::train).examples[0].first == "Q");
  CHECK(folder.read(GlueTask::wnli, GlueSplit::train).examples[0].label == 1);
  CHECK(folder.read(GlueTask::sst2, GlueSplit::train).examples[0].first == "fine ");
  // The task's own folder does as well.
  CHECK(read_glue(folder.folder.path / "QNLI", GlueTask::qnli, GlueSplit::train).labelled);
}

TEST_CASE("tables may be UTF-16 with a mark, and empty lines end them") {
  Folder folder;
  std::string utf16 = "\xff\xfe";
  for (const char c : std::string("sentence\tlabel\r\nfine\t1\r\n\r\n\r\n")) utf16 += {c, '\0'};
  folder.add("SST-2/train.tsv", utf16);
  const LabelledTexts train = folder.read(GlueTask::sst2, GlueSplit::train);
  REQUIRE(train.examples.size() == 1);
  CHECK(train.examples[0].first == "fine");
  folder.add("SST-2/train.tsv", "sentence\tlabel\nfine\t1\n\n\npoor\t0\n");
  CHECK(folder.complaint(GlueTask::sst2) == "SST-2/train.tsv:3: has 1 column, wanted 2");
}

TEST_CASE("a test file whose labels are secret, all of them -1, has none") {
  Folder folder;
  folder.add("SST-2/test.tsv", "sentence\tlabel\nfine\t-1\npoor\t-1\n");
  const LabelledTexts test = folder.read(GlueTask::sst2, GlueSplit::test);
  CHECK(test.examples.size() == 2);
  CHECK_FALSE(test.labelled);
  folder.add("SST-2/dev.tsv", "sentence\tlabel\nfine\t-1\n");
  CHECK(folder.complaint(GlueTask::sst2, GlueSplit::validation) ==
        "SST-2/dev.tsv:2: got label '-1', wanted 0, 1");
}

TEST_CASE("Wrong rows are refused with their line, broken rows of QQP left out") {
  Folder folder;
  folder.add("RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tentailment\n1\tA\tB\n");
  CHECK(folder.complaint(GlueTask::rte) == "RTE/train.tsv:3: has 3 columns, wanted 4");
  folder.add("RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tyes\n");
  CHECK(folder.complaint(GlueTask::rte) ==
        "RTE/train.tsv:2: got label 'yes', wanted entailment, not_entailment");
  folder.add("RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\n");
  CHECK(folder.complaint(GlueTask::rte) == "RTE/train.tsv: has no examples");
  folder.add("RTE/train.tsv", "sentence\tlabel\nA\t1\n");
  CHECK(folder.complaint(GlueTask::rte) == "RTE/train.tsv:1: has no column 'sentence1'");
  folder.add("RTE/train.tsv", "index\tsentence1\tsentence2\tlabel\tlabel\n0\ta\tb\t1\t0\n");
  CHECK(folder.complaint(GlueTask::rte) == "RTE/train.tsv:1: has two columns \"label\"");
  folder.add("STS-B/train.tsv", "index\tsentence1\tsentence2\tscore\n0\tA\tB\tnan\n");
  CHECK(folder.complaint(GlueTask::stsb) ==
        "STS-B/train.tsv:2: got score 'nan', wanted a number from 0 to 5");
  folder.add("CoLA/train.tsv", "");
  CHECK(folder.complaint(GlueTask::cola) == "CoLA/train.tsv: is empty");
  CHECK(folder.complaint(GlueTask::wnli) == "WNLI/train.tsv: no such file");
  folder.add("QQP/train.tsv",
             "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
             "0\t1\t2\tA\tB\t1\n1\t3\t4\tbroken\nline\t0\n2\t5\t6\tC\t\t0\n");
  const LabelledTexts qqp = folder.read(GlueTask::qqp, GlueSplit::train);
  CHECK(qqp.examples.size() == 2);
  CHECK(qqp.broken_rows == 2);
  CHECK(qqp.empty_sentences == 1);
  folder.add("QQP/test.tsv", "id\tquestion1\tquestion2\n0\tA\tB\n1\tbroken\nline\tD\n");
  CHECK(folder.complaint(GlueTask::qqp, GlueSplit::test) ==
        "QQP/test.tsv:3: has 2 columns, wanted 3");
}

TEST_CASE("files of Hugging Face's hub are read by their names and numbers of classes") {
  Folder folder;
  folder.add("MRPC/train.jsonl",
             "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"label\": 1, \"idx\": 7}\n"
             "{\"sentence1\": \"c\", \"sentence2\": \"d\", \"label\": 0, \"idx\": 9}\n");
  const LabelledTexts mrpc = folder.read(GlueTask::mrpc, GlueSplit::train);
  REQUIRE(mrpc.examples.size() == 2);
  CHECK(mrpc.examples[0].label == 1);
  CHECK(mrpc.examples[1].index == 9);
  CHECK(mrpc.examples[1].second == "d");
  folder.add("MNLI/validation_matched.csv",
             "premise,hypothesis,label,idx\n\"a, b\",c,2,0\nd,e,0,1\n");
  const LabelledTexts mnli = folder.read(GlueTask::mnli, GlueSplit::validation);
  CHECK(mnli.examples[0].first == "a, b");
  CHECK(glue_task_facts(GlueTask::mnli).labels[2] == "contradiction");
  CHECK(mnli.examples[0].label == 2);
  CHECK(mnli.examples[1].label == 0);
  folder.add("RTE/test.jsonl",
             "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"label\": -1, \"idx\": 0}\n");
  CHECK_FALSE(folder.read(GlueTask::rte, GlueSplit::test).labelled);
  folder.add("QNLI/train.csv", "question,sentence,label\na,b,maybe\n");
  CHECK(folder.complaint(GlueTask::qnli) ==
        "QNLI/train.csv:2: got label 'maybe', wanted entailment, not_entailment");
}
