#!/usr/bin/env bash
# Trains a small model for 60 steps without a stop, then again while killing it (SIGKILL) and
# resuming, with one and with two loader threads, and compares every loss bitwise. The first kill
# waits for a step, so that there is something to lose; the others come at random moments.
#   resume.sh FOLDER_OF_ROFORMER
set -euo pipefail
roformer=$(cd "$1" && pwd)/roformer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Four hundred short documents of a few words, made here.
words=(the rotary position of a word turns its query and its key so that distance decides)
for ((i = 0; i < 400; i++)); do
  for ((j = 0; j < 40; j++)); do printf '%s ' "${words[(i * 7 + j * j + i * j) % ${#words[@]}]}"; done
  printf '\n\n'
done > text.txt
"$roformer" data prepare text.txt --bytes --output data > prepare.log 2>&1

cat > run.yaml <<'YAML'
task: mlm
threads: 2
data: {directory: data, length: 32, validation_tokens: 2000}
model: {layers: 2, width: 32, heads: 2, feed_forward: 64, dropout: 0.1}
training:
  steps: 60
  batch: 8
  accumulation: 2
  log_every: 1
  validate_every: 20
  save_every: 7
  keep_last: 2
  precision: fp32
YAML

# Step, epochs, loss, learning rate and gradient norm of every line; times and speeds differ of
# course.
figures() {
  sed -E 's/"(minutes|tokens_per_s|step_ms|loader_wait_ms|loader_share)":[^,}]*,?//g' "$1"
}

lines() {
  if [ -e "$1" ]; then wc -l < "$1"; else echo 0; fi
}

"$roformer" train run.yaml --run whole > whole.log 2>&1
for threads in 1 2; do
  name=killed-$threads kills=0
  metrics=runs/$name/metrics.jsonl
  flags=()
  for attempt in $(seq 1 20); do
    "$roformer" train run.yaml --run $name --data.loader_threads $threads "${flags[@]}" \
      > $name.log 2>&1 &
    process=$!
    if [ "$attempt" -eq 1 ]; then
      # After a step of the first thirty, before or after the first checkpoint.
      wanted=$((RANDOM % 30 + 1))
      while [ "$(lines $metrics)" -lt $wanted ] && kill -0 $process 2>/dev/null; do sleep 0.005; done
    elif [ "$attempt" -le 4 ]; then
      # Between half a second and two seconds: while starting, training or saving.
      sleep "$((RANDOM % 2)).$((RANDOM % 5 + 5))"
    fi
    if [ "$attempt" -le 4 ]; then kill -KILL $process 2>/dev/null || true; fi
    status=0
    wait $process 2>/dev/null || status=$?
    if [ $status -eq 0 ]; then break; fi
    if [ $status -ne 137 ]; then
      echo "$name was not killed but failed:"
      cat $name.log
      exit 1
    fi
    kills=$((kills + 1))
    [ -e runs/$name/config.yaml ] && flags=(--resume)
  done
  if [ $kills -eq 0 ]; then
    echo "$name ended before it could be killed: nothing was resumed"
    exit 1
  fi
  if ! cmp <(figures runs/whole/metrics.jsonl) <(figures $metrics); then
    echo "the losses of $name differ from those of a run never stopped:"
    diff <(figures runs/whole/metrics.jsonl) <(figures $metrics) | head
    exit 1
  fi
  echo "$name: $(lines $metrics) lines equal after $kills kills"
done
