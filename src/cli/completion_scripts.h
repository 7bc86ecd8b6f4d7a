// The part of each completion script that is the same for every program: it finds the command, and
// offers what the tables before it (completion.cpp) print.
#pragma once

namespace roformer {

// bash cuts words at "=", so that `--flag=value` is three words.
inline constexpr const char* kBashCompletion = R"script(
_roformer() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} path='' word i kind='' prefix=''
  COMPREPLY=()
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $'\n'$(_roformer_commands "$path")$'\n' == *$'\n'"$word"$'\n'* ]]; then
      path+=${path:+ }$word
    fi
  done
  if [[ $before == --* ]]; then kind=$(_roformer_values "$path $before"); fi
  if [[ -z $kind && $current == -* ]]; then
    local -A seen=()
    local rest flags
    flags=$(_roformer_flags "$path")
    if [[ $flags == *@keys ]]; then flags=${flags%@keys}$(_roformer_keys); fi
    # The keys are hundreds: they are offered up to their next dot.
    for word in $flags; do
      [[ $word == "$current"* ]] || continue
      rest=${word:${#current}}
      if [[ $rest == *.* ]]; then word=$current${rest%%.*}.; fi
      if [[ -z ${seen[$word]-} ]]; then COMPREPLY+=("$word"); fi
      seen[$word]=1
    done
    if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *. ]]; then compopt -o nospace 2>/dev/null; fi
    return
  fi
  if [[ -z $kind ]]; then kind=$(_roformer_commands "$path"); fi
  if [[ -z $kind ]]; then kind=$(_roformer_values "$path"); fi
  case $kind in
    @none | '') ;;
    @name) COMPREPLY=($(cd runs 2>/dev/null && compgen -d -- "$current")) ;;
    @file | @run)
      compopt -o filenames 2>/dev/null
      local IFS=$'\n'
      if [[ $kind == @run && $current != */* ]]; then COMPREPLY=($(compgen -d -- "runs/$current")); fi
      COMPREPLY+=($(compgen -f -- "$current"))
      ;;
    *)
      if [[ $current == *,* ]]; then prefix=${current%,*},; fi
      COMPREPLY=($(compgen -P "$prefix" -W "$kind" -- "${current##*,}"))
      ;;
  esac
}
complete -F _roformer roformer
)script";

inline constexpr const char* kZshCompletion = R"script(
_roformer() {
  local before="${words[CURRENT - 1]}" route='' word rest i
  local -a kind flags sections
  for ((i = 2; i < CURRENT; ++i)); do
    word="${words[i]}"
    if (( ${${(f)"$(_roformer_commands "$route")"}[(Ie)$word]} )); then
      route+="${route:+ }$word"
    fi
  done
  if [[ "${words[CURRENT]}" == --*=* ]]; then
    before="${words[CURRENT]%%=*}"
    compset -P '*='
  fi
  if [[ "$before" == --* ]]; then kind=(${(f)"$(_roformer_values "$route $before")"}); fi
  if [[ ${#kind} == 0 && "$PREFIX" == -* ]]; then
    for word in ${(f)"$(_roformer_flags "$route")"}; do
      if [[ "$word" == @keys ]]; then
        flags+=(${(f)"$(_roformer_keys)"})
      else
        flags+=("$word")
      fi
    done
    # The keys are hundreds: they are offered up to their next dot.
    for word in "${(@)flags}"; do
      [[ "$word" == "$PREFIX"* ]] || continue
      rest="${word#$PREFIX}"
      if [[ "$rest" == *.* ]]; then sections+=("$PREFIX${rest%%.*}."); else kind+=("$word"); fi
    done
    [[ ${#sections} == 0 ]] || compadd -S '' -a sections
    [[ ${#kind} == 0 ]] || compadd -a kind
    return
  fi
  if [[ ${#kind} == 0 ]]; then kind=(${(f)"$(_roformer_commands "$route")"}); fi
  if [[ ${#kind} == 0 ]]; then kind=(${(f)"$(_roformer_values "$route")"}); fi
  case "${kind[1]}" in
    @none | '') ;;
    @name) compadd -- runs/*(N-/:t) ;;
    @file) _files ;;
    @run)
      [[ "$PREFIX" == */* ]] || compadd -f -- runs/*(N-/)
      _files
      ;;
    *)
      compset -P '*,'
      compadd -a kind
      ;;
  esac
}
if [[ "$funcstack[1]" == _roformer ]]; then
  _roformer "$@"
else
  compdef _roformer roformer
fi
)script";

inline constexpr const char* kFishCompletion = R"script(
function _roformer
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l before $words[-1]
  set -l path ''
  set -l kind
  set -l start ''
  for word in $words[2..-1]
    if contains -- $word (_roformer_commands "$path")
      set path (string trim "$path $word")
    end
  end
  if string match -q -- '--*=*' $current
    set before (string replace -r '=.*' '' -- $current)
    set start $before=
    set current (string replace -r '^[^=]*=' '' -- $current)
  end
  if string match -q -- '--*' $before
    set kind (_roformer_values "$path $before")
  end
  if test -z "$kind"; and string match -q -- '-*' $current
    set -l flags
    for flag in (_roformer_flags "$path")
      if test $flag = @keys
        set flags $flags (_roformer_keys)
      else
        set flags $flags $flag
      end
    end
    # The keys are hundreds: they are offered up to their next dot.
    set -l depth (math 1 + (string split . -- $current | count) - 1)
    for flag in $flags
      string match -q -- "$current*" $flag; or continue
      set -l parts (string split . -- $flag)
      if test (count $parts) -gt $depth
        string join . -- $parts[1..$depth] ''
      else
        echo $flag
      end
    end | sort -u
    return
  end
  test -n "$kind"; or set kind (_roformer_commands "$path")
  test -n "$kind"; or set kind (_roformer_values "$path")
  switch "$kind[1]"
    case @none ''
    case @name
      for folder in runs/*/
        string replace -r '^runs/(.*)/$' '$1' -- $folder
      end
    case @file
      printf "$start%s\n" (__fish_complete_path $current)
    case @run
      printf '%s\n' runs/*/ (__fish_complete_path $current)
    case '*'
      set -l listed (string replace -r '[^,]*$' '' -- $current)
      printf "$start$listed%s\n" $kind
  end
end
complete -c roformer -f -a '(_roformer)'
)script";

}  // namespace roformer
