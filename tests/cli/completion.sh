#!/usr/bin/env bash
# Completes command lines as bash does: completion.sh BUILD_FOLDER
set -uo pipefail
build_folder=$(realpath "$1")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
mkdir -p runs/first runs/second
touch texts.csv
source <("$build_folder/roformer" completion bash) || exit 1
failures=0

# expect "WORDS OF THE LINE" CANDIDATE...: the last word is the one that is completed.
expect() {
  local line=$1 found wanted
  shift
  read -ra COMP_WORDS <<< "$line"
  if [[ $line == *' ' ]]; then COMP_WORDS+=(''); fi
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _roformer
  for wanted in "$@"; do
    found=0
    for word in "${COMPREPLY[@]}"; do if [[ $word == "$wanted" ]]; then found=1; fi; done
    if [[ $found == 0 ]]; then
      printf '"%s" is not completed to %s but to: %s\n' "$line" "$wanted" "${COMPREPLY[*]-}"
      failures=$((failures + 1))
    fi
  done
}

# expect_only "LINE" CANDIDATE...: these, and nothing else.
expect_only() {
  expect "$@"
  if [[ ${#COMPREPLY[@]} != $(($# - 1)) ]]; then
    printf '"%s" has other candidates: %s\n' "$1" "${COMPREPLY[*]-}"
    failures=$((failures + 1))
  fi
}

expect_only 'roformer tra' train translate  # the list has no other command that begins so
expect_only 'roformer config d' dump diff
expect 'roformer train --res' --resume
expect_only 'roformer train --training.ste' --training.steps
expect_only 'roformer train --traini' --training.
expect 'roformer train --training.' --training.muon. --training.batch
expect_only 'roformer train --training.schedule co' constant cosine
expect_only 'roformer train --training.schedule = co' constant cosine  # bash cuts --flag=value
expect_only 'roformer study configs/x.yaml --position rope,al' rope,alibi
expect_only 'roformer train --model.bias ' true false
expect_only 'roformer train --seed '
expect 'roformer evaluate r' runs
expect_only 'roformer evaluate runs/f' runs/first
expect 'roformer train --model.from ' runs/first runs/second
expect_only 'roformer train --resume --run s' second
expect_only 'roformer evaluate --weights ' raw ema
expect 'roformer train te' texts.csv
expect 'roformer positions show ro' rope
[ $failures = 0 ]
