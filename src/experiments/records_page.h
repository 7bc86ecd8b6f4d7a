// Several records of studies, read without the studies' files or runs: rows of one protocol in one
// table, and a static page of all records. Rows are comparable if their records name the same
// version, data and recipe and, within one row, the same scheme options. Other runs are listed with
// the reason, as are those whose attention made its gradient in another way. A row from another
// machine is marked with it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/origin.h"
#include "experiments/protocol_record.h"
#include "experiments/study_rows.h"
#include "experiments/study_table.h"
#include "report/table.h"

namespace roformer {

// A run that is not comparable.
struct ApartRun {
  std::string name;
  std::string file;    // of its record
  std::string reason;  // "protocol version 2, here 1"
};

struct MergedTable {
  std::string protocol;  // "leaderboard"
  std::string task;      // "mlm"
  std::string machine;   // of the rows without a mark
  StudySettings study;   // its tables and charts show the rows
  std::vector<StudyRow> rows;
  std::vector<std::int64_t> lengths;            // of the test losses
  std::map<std::string, std::string> families;  // by a row's title
  std::vector<ApartRun> apart;
};

// One table for each protocol, in the order of the records. The first run of the first record
// decides the table's version, data, recipe and machine.
std::vector<MergedTable> merge_records(const std::vector<ProtocolRecord>& records);

// The runs that are not comparable: run, record, reason.
Table apart_table(const MergedTable& merged);

// One static HTML page with each protocol's rows in one table and charts of every length, the runs
// that are not comparable, other studies with their own tables and charts, and the origin of all.
// Throws Error (failure) for a file that is no record.
std::string records_page(const std::vector<std::filesystem::path>& records, const Origin& origin);

struct TitledTable {
  std::string name;   // "results", "differences" or "apart"
  std::string title;  // "leaderboard version 1, a masked language model: differences"
  Table table;
};
// The same rows as tables. Each protocol has its results, its differences, and its runs that are
// not comparable.
std::vector<TitledTable> merged_tables(const std::vector<std::filesystem::path>& records,
                                       TableUse use = TableUse::document);

}  // namespace roformer
