# shellcheck shell=bash
# Sourced by the scripts of this folder: a stage is one line with its result and its time.
#   enter_project               into the folder of the sources; an installed script stays where the user is
#   begin_stage NAME            on a terminal the name shows while the stage runs
#   end_stage RESULT            "NAME  RESULT  12.3 s"
#   fail MESSAGE [HINT]         one clear line on standard error, then exit 1
#   usage_error MESSAGE         the same for a wrong command line: exit 2
#   logged COMMAND...           output goes to .cache/setup.log; its end is shown if COMMAND fails

script=scripts/${0##*/}
sources=$(dirname "${BASH_SOURCE[0]}")/..
if [ ! -e "$sources/CMakeLists.txt" ]; then script=$0; fi

# `roformer NAME` runs scripts/NAME where the user is and says in ROFORMER_PROGRAM what started it.
enter_project() {
  if [ -z "${ROFORMER_PROGRAM:-}" ] && [ -e "$sources/CMakeLists.txt" ]; then cd "$sources" || return; fi
}

begin_stage() {
  stage_name=$1
  stage_start=${EPOCHREALTIME/,/.}
  if [ -t 1 ]; then printf '%-12s ...\r' "$stage_name"; fi
}

end_stage() {
  awk -v name="$stage_name" -v result="$1" -v start="$stage_start" -v now="${EPOCHREALTIME/,/.}" \
    'BEGIN { printf "%-12s %-58s %7.1f s\n", name, result, now - start }'
}

fail() {
  printf '%s: %s\n' "$script" "$1" >&2
  if [ -n "${2:-}" ]; then printf '  hint: %s\n' "$2" >&2; fi
  exit 1
}

usage_error() {
  printf '%s: %s (see %s --help)\n' "$script" "$1" "$script" >&2
  exit 2
}

logged() {
  mkdir -p .cache
  "$@" > .cache/setup.log 2>&1 < /dev/null && return
  printf 'the last lines of .cache/setup.log:\n' >&2
  tail -n 15 .cache/setup.log >&2
  return 1
}
