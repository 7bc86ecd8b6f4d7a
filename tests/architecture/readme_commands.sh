#!/usr/bin/env bash
# Tests the commands in documents: readme_commands.sh SOURCE_FOLDER BUILD_FOLDER [DOCUMENT...]
# (default: every README.md, CONTRIBUTING.md and page of results). The documents share one scratch folder, so the
# tutorials can build on each other.
#
# A block that begins with ```sh is preceded by a line that says how it is tested:
#   <!-- test: run -->           executed as it stands, in a scratch folder that looks like the repository
#   <!-- test: check -->         too long to run: the programs and files named exist, the options and
#                                keys are known (train: by config check; study: by --dry-run)
#   <!-- test: skip, REASON -->
# A block of commands without such a line is an error, so that no command is forgotten.
# Blocks of other languages may have one, too:
#   <!-- test: prints -->        the last block that was run prints these lines; numbers, bold type and
#                                the width of columns may differ, "..." is anything
#   <!-- test: part of FILE -->  FILE contains these lines
set -uo pipefail
source_folder=$(realpath "$1")
build_folder=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for entry in configs scripts src tests CMakeLists.txt README.md; do
  ln -s "$source_folder/$entry" "$scratch/$entry"
done
mkdir "$scratch/data"
ln -s "$source_folder"/data/*.* "$scratch/data"
mkdir "$scratch/build"
ln -s "$build_folder/roformer" "$scratch/build/roformer"
export PATH=$build_folder:$PATH
cd "$scratch" || exit 1

failures=0
blocks=0
complain() {
  printf '%s: %s\n' "$place" "$1"
  failures=$((failures + 1))
}

output=''
run_block() {
  if ! output=$(bash -euo pipefail -c "$1" 2>&1 < /dev/null); then
    complain "this block fails:
$1
$output"
  fi
}

masked() {
  sed -E 's/[-+]?[0-9][0-9.,e+-]*/#/g; s/─+/─/g; s/\*\*//g; s/[[:space:]]+/ /g; s/^ //; s/ $//'
}

check_printed() {
  local line pattern printed
  printed=$(masked <<< "$output")
  while IFS= read -r line; do
    pattern=$(masked <<< "$line" | sed 's/[][\.*^$]/\\&/g; s/\\\.\\\.\\\./.*/g')
    grep -qe "^$pattern$" <<< "$printed" || complain "not printed: $line
$output"
  done <<< "${1%$'\n'}"
}

check_part() {
  [[ $(cat "$source_folder/$1") == *"${2%$'\n'}"* ]] || complain "$1 does not contain this block"
}

# Every "--option" of the command ($2...) is in the help text ($1); keys with a dot are not.
check_options() {
  local help=$1 word option
  shift
  for word in "$@"; do
    option=${word%%=*}
    if [[ $option == --[a-z]* && $option != *.* ]] && ! grep -qwF -e "$option" <<< "$help"; then
      complain "unknown option $option in: $*"
    fi
  done
}

check_command() {
  local words help output
  mapfile -t words < <(xargs -r -n 1 printf '%s\n' <<< "${1%% #*}")  # as the shell would, quotes and all
  if [ ${#words[@]} = 0 ] || [[ ${words[0]} == '#'* ]]; then return; fi
  local word
  for word in "${words[@]}"; do
    if [[ $word =~ ^(configs|scripts|src|tests)/[^*]*$ || $word =~ ^data/[a-z0-9_-]+\.yaml$ ]] && [ ! -e "$word" ]; then
      complain "no such file: $word in: $1"
      return
    fi
  done
  case ${words[0]} in
    scripts/*)
      help=$("${words[0]}" --help 2>&1) || complain "${words[0]} --help fails"
      check_options "$help" "${words[@]}"
      ;;
    roformer | build/roformer)
      case ${words[1]:-} in
        train)
          # The folder of a run that the block itself has made.
          if [[ ${words[2]:-} == runs/* ]]; then return; fi
          # What train alone knows.
          for word in "${!words[@]}"; do
            if [[ ${words[word]} =~ ^--(resume|overwrite|smoke)$ ]]; then unset "words[word]"; fi
          done
          output=$(roformer config check "${words[@]:2}" 2>&1) || complain "in: $1
$output" ;;
        study) output=$(roformer study "${words[@]:2}" --dry-run 2>&1) || complain "in: $1
$output" ;;
        *)
          help=$(roformer "${words[1]:-}" --help 2>&1) || complain "no such command: $1"
          if [[ ${words[2]:-} =~ ^[a-z-]+$ ]] && output=$(roformer "${words[@]:1:2}" --help 2>&1); then help=$output; fi
          check_options "$help" "${words[@]}"
          ;;
      esac
      ;;
    *) command -v "${words[0]}" > /dev/null || complain "no such program: ${words[0]} in: $1" ;;
  esac
}

check_block() {
  local command
  while IFS= read -r command; do check_command "$command"; done <<< "${1//\\$'\n'/ }"
}

test_document() {
  local line number=0 marker='' block='' inside=0
  while IFS= read -r line; do
    number=$((number + 1))
    if [ $inside = 1 ]; then
      if [[ $line != '```' ]]; then
        block+=$line$'\n'
        continue
      fi
      inside=0
      blocks=$((blocks + 1))
      case $marker in
        run) run_block "$block" ;;
        check) check_block "$block" ;;
        'skip, '*) ;;
        prints) check_printed "$block" ;;
        'part of '*) check_part "${marker#part of }" "$block" ;;
        *) complain 'a block of commands without a line <!-- test: run | check | skip, REASON -->' ;;
      esac
      marker=''
    elif [[ $line == '```sh' || -n $marker && $line == '```'?* ]]; then
      inside=1
      block=''
      place=${1#"$source_folder"/}:$number
    elif [[ $line =~ ^'<!-- test: '(.*)' -->'$ ]]; then
      marker=${BASH_REMATCH[1]}
    fi
  done < "$1"
}

documents=("${@:3}")
if [ ${#documents[@]} = 0 ]; then
  mapfile -t documents < <(
    find "$source_folder"/README.md "$source_folder"/{configs,data,scripts,src,tests} -name README.md
    find "$source_folder"/.github -name CONTRIBUTING.md
    find "$source_folder"/configs/study/results -name '*.md')
fi
for document in "${documents[@]}"; do test_document "$(realpath "$document")"; done
printf '%d blocks, %d failures\n' $blocks $failures
[ $blocks -gt 0 ] && [ $failures = 0 ]
