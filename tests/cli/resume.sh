#!/usr/bin/env bash
# Trains a small model for 60 steps without a stop, then again while killing it (SIGKILL) at random
# moments and resuming, with one and with two loader threads, and compares every loss bitwise.
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

# Step, loss, learning rate and gradient norm of every line; times and speeds differ of course.
figures() {
  sed -E 's/"(epochs|minutes|tokens_per_s|step_ms|loader_wait_ms|loader_share)":[^,}]*,?//g' "$1"
}

"$roformer" train run.yaml --run whole > whole.log 2>&1
for threads in 1 2; do
  name=killed-$threads kills=0
  flags=()
  for attempt in $(seq 1 40); do
    "$roformer" train run.yaml --run $name --data.loader_threads $threads "${flags[@]}" \
      > $name.log 2>&1 &
    process=$!
    # Between half a second and two seconds: while starting, training or saving.
    if [ "$attempt" -le 6 ]; then
      sleep "0.$((RANDOM % 5 + 5))"
      sleep "$((RANDOM % 2))"
      kill -KILL $process 2>/dev/null && kills=$((kills + 1))
    fi
    if wait $process 2>/dev/null; then break; fi
    [ -e runs/$name/config.yaml ] && flags=(--resume)
  done
  if ! cmp <(figures runs/whole/metrics.jsonl) <(figures runs/$name/metrics.jsonl); then
    echo "the losses of $name differ from those of a run never stopped:"
    diff <(figures runs/whole/metrics.jsonl) <(figures runs/$name/metrics.jsonl) | head
    exit 1
  fi
  echo "$name: $(wc -l < runs/$name/metrics.jsonl) lines equal after $kills kills"
done
