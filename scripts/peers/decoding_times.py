"""What the scripts that translate beside `roformer bench decoding` have in common."""
import json
import resource
import time
from pathlib import Path


def options_of(parser):
    """Adds the options that all of them have, and reads the command line."""
    for name, default in dict(lines=0, beam=4, threads=2, repeats=3).items():
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--output", help="file for the translations")
    return parser.parse_args()


def lines_of(options):
    lines = Path(options.text).read_text(encoding="utf-8").splitlines()
    return lines[:options.lines] if options.lines else lines


def measure(translate, text_of, options, **facts):
    """Calls translate(), which returns a list of pieces for each line, once to warm up and then
    `repeats` times; prints the median, and writes what text_of(pieces) makes of them."""
    results = translate()
    times = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        results = translate()
        times.append(time.perf_counter() - start)
    times.sort()
    seconds = times[len(times) // 2]
    tokens = sum(len(result) + 1 for result in results)
    if options.output:
        Path(options.output).write_text("".join(text_of(result) + "\n" for result in results), encoding="utf-8")
    print(json.dumps(dict(
        **facts, sentences=len(results), target_tokens=tokens, seconds=round(seconds, 3),
        best_seconds=round(times[0], 3), sentences_per_s=round(len(results) / seconds, 2),
        target_tokens_per_s=round(tokens / seconds, 1),
        max_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)))
