// Rows of several records of one protocol in one table. What compares is told by what the records
// say: the same version, data and recipe, and for one row the same options of its scheme.
// Everything else is listed with the reason, and a row that another machine made is marked with it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "experiments/protocol_record.h"
#include "experiments/study_table.h"

namespace roformer {

// A run that is left out.
struct ApartRun {
  std::string name;
  std::string file;    // of its record
  std::string reason;  // "protocol version 2, here 1"
};

struct MergedTable {
  std::string protocol;  // "leaderboard"
  std::string task;      // "mlm"
  std::string machine;   // of the rows without a mark
  StudySettings study;   // whose tables and charts are those of the rows
  std::vector<StudyRow> rows;
  std::vector<std::int64_t> lengths;            // that were measured
  std::map<std::string, std::string> families;  // by a row's title
  std::vector<ApartRun> apart;
};

// One table for each protocol, in the order in which the records name them; the first run of the
// first record says what version, data, recipe and machine the table is of.
std::vector<MergedTable> merge_records(const std::vector<ProtocolRecord>& records);

// What compares with nothing here: run, record, why.
Table apart_table(const MergedTable& merged);

}  // namespace roformer
