#!/usr/bin/env python3
"""Holds the cost model of src/training/distributed/README.md against two processes whose loopback has a limited rate.

  sudo tests/training/limited_rate.py ROFORMER [--config FILE] [--rates 4000,1000,400] [--steps 6] [KEY FLAGS...]

Makes a network namespace (root, `ip` and `tc` of Debian's iproute2), limits its loopback, over which
both processes send, and runs `bench scaling --ranks 2` at each rate, in Mbit/s, and without a limit, from which
the time of computing is taken. Prints a table in Markdown; exit code 1 where a step is off by more than a fifth.
On an otherwise idle machine."""

import argparse
import json
import subprocess
import sys

NAMESPACE = "roformer-limited-rate"
LEAST, MOST = 1 << 20, 1 << 24  # bytes of a bucket, as bucket_size() in src/training/step_reduction.h


def measured(options, flags, rate):
    inside = ["ip", "netns", "exec", NAMESPACE]
    subprocess.run(inside + ["tc", "qdisc", "del", "dev", "lo", "root"], capture_output=True)
    if rate:
        subprocess.run(inside + ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", f"{rate}mbit",
                                 "burst", "1mb", "latency", "400ms"], check=True)
    done = subprocess.run(inside + [options.program, "bench", "scaling", "--config", options.config, "--ranks", "2",
                                    "--steps", str(options.steps), "--json", *flags],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[0])


def predicted(compute, gradient, last, bandwidth):
    """Seconds of a step of two processes: `last` bytes of the gradient, the embeddings, are there at the end of
    the backward pass, which is two thirds of computing; the others come evenly, in buckets."""
    bucket = min(max(gradient / 8, LEAST), MOST)
    layers = gradient - last
    first_ready = compute / 3 + 2 / 3 * compute * min(bucket / layers, 1)
    layers_sent = max(compute + min(bucket, layers) / bandwidth, first_ready + layers / bandwidth)
    return layers_sent + last / bandwidth


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--config", default="configs/bench/mlm-small.yaml")
    parser.add_argument("--rates", default="4000,1000,400", help="Mbit/s")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--embeddings", type=int, default=16000 * 256, help="numbers of the embeddings")
    options, flags = parser.parse_known_args()
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    worst = 0
    try:
        subprocess.run(["ip", "netns", "exec", NAMESPACE, "ip", "link", "set", "lo", "up"], check=True)
        free = measured(options, flags, None)
        compute, gradient = free["compute_ms"] / 1e3, free["gradient_bytes"]
        print("| rate of both | sum alone, predicted | measured | step, predicted | measured | off |")
        print("|---:|---:|---:|---:|---:|---:|")
        print(f"| no limit | – | {free['bare_reduce_ms']:.0f} ms | – | {free['step_ms']:.0f} ms | – |", flush=True)
        for rate in map(int, options.rates.split(",")):
            bandwidth = rate * 1e6 / 8 / 2  # of each process
            found = measured(options, flags, rate)
            alone = 1e3 * gradient / bandwidth
            step = 1e3 * predicted(compute, gradient, 4 * options.embeddings, bandwidth)
            off = step / found["step_ms"] - 1
            worst = max(worst, abs(off))
            print(f"| {rate:,} Mbit/s | {alone:.0f} ms | {found['bare_reduce_ms']:.0f} ms | {step:.0f} ms "
                  f"| {found['step_ms']:.0f} ms | {100 * off:+.0f} % |", flush=True)
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE])
    sys.exit(1 if worst > 0.2 else 0)


if __name__ == "__main__":
    main()
