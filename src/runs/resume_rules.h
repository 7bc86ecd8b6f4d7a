// The table of rules for what may change when a run is resumed. Some rules depend on values and are
// checked elsewhere: may_grow and before_decay by look_at_run (resume.h), if_asked by require_same,
// if_divisible by micro_batches_of_step (step_rows.h).
#pragma once

#include <string>
#include <string_view>

#include "config/schema.h"
#include "config/settings.h"

namespace roformer {

enum class AtResume {
  may_change,
  must_stay,
  by_schema,  // the column `decides` of the schema decides about a key (config/schema.h)
  // allowed unless the translation key defines the ranking of checkpoints by BLEU or chrF
  unless_ranking,
  may_grow,
  before_decay,
  until_checkpoint,
  if_asked,
  if_divisible,
};

struct ResumeRule {
  std::string_view subject;  // a key, or "run.json: FIELD"; a * at the end matches any rest
  AtResume rule;
  std::string_view words;  // for the message and for src/runs/README.md
};

// The rule of a key, or of "run.json: FIELD".
const ResumeRule& resume_rule_of(std::string_view subject);

// The table of rules in Markdown, for src/runs/README.md.
std::string resume_rules_table();

// Whether a resumed run may have another value of the key.
bool may_change_when_resumed(const Key& key, const Settings& stored);

}  // namespace roformer
