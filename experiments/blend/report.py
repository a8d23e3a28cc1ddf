"""Turn results/*.json into README.md: quality and cost, choices by validation, peers, further ideas.

    python experiments/blend/report.py [--results FOLDER]

With a folder of its own, README.md is written into it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import edges

HERE = Path(__file__).parent
HEAD = """# Item–item regression over every pair, blended with factors

Made by `report.py` from `results/`; every number there comes from one of these commands (`EVERYPAIR_DATA` names the
folder with the data sets; each script has `--smoke`, which runs in seconds on a part of the embedded data and writes
nothing):

```
python experiments/blend/quality.py                            # Blend() with all defaults, 3 seeds
python experiments/blend/quality.py --one-split --data ml1m    # the same split for all seeds
python experiments/blend/quality.py --auto                     # weights found on held-out training entries
python experiments/blend/quality.py --cost --anew --seeds 1    # CPU seconds and memory alone, on a quiet machine
python experiments/blend/ranks.py                              # the rank of OneClassMF, by validation alone
python experiments/blend/validation.py                         # choices behind the defaults, by validation alone
python experiments/blend/further.py                            # ideas beyond, by validation alone
python experiments/blend/tuned.py                              # all parameters of a blend, by validation, tested once
python experiments/blend/tuned.py --folds 4 --most 30          # the same with more effort
python experiments/blend/peers.py                              # other recommenders, twelve trials each at most
python experiments/blend/report.py
```

All metrics are × 100, ± is the standard error of the mean over seeds. yelp2018 is split as published; everything else
9:1 over entries, by the seed unless it says one split. `OneClassMF()` has rank 64; "factors" and "items" are the two
parts of the blend by themselves.

Older than the present solver, which also balances both sides of the factors after a sweep: split 0 of the search with
two folds. The search with four folds was made after that with two had been tested. Beside others, a search that has
fewer than twelve points had no neighbour of its best point left to try. EASE on yelp2018 comes from the users' side, an
inverse of 31,668 × 31,668 for every point.
"""


def load(results: Path, prefix: str, without: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Records of the files whose name begins with ``prefix`` and with none of ``without``."""
    return [
        json.loads(path.read_text())
        for path in sorted(results.glob(f"{prefix}*.json"))
        if not path.name.startswith(without)
    ]


def mean(records: list[dict[str, Any]], model: str, metric: str) -> str:
    values = 100 * np.array([record[model][metric] for record in records])
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def quality(title: str, results: list[dict[str, Any]]) -> list[str]:
    if not results:
        return []
    lines = [f"\n## {title}\n", "| data | seeds | rank | weights | metric | `OneClassMF()` | factors | items | blend |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for result in sorted(results, key=lambda result: result["positives"]):
        seeds = result["seeds"]
        weights = sorted({f"{a:g} : {b:g}" for a, b in (record["weights"] for record in seeds)})
        for metric in ("ndcg@10", "ndcg@20", "recall@20"):
            cells = " | ".join(mean(seeds, model, metric) for model in ("default", "factors", "items", "blend"))
            lines.append(
                f"| {result['data']} | {len(seeds)} | {seeds[0]['rank']} | {', '.join(weights)} | {metric} | {cells} |"
            )
    return lines


def cost(results: list[dict[str, Any]]) -> list[str]:
    if not results:
        return []
    lines = [
        "\n## Cost\n",
        "CPU seconds, warm kernels, 2 threads of one small machine that did nothing else (`quality.py --cost`);",
        "peak memory of the process.\n",
        "| data | rank | training, factors | blend | ratio | top 10 for all, factors | blend | ratio | peak MB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in sorted(results, key=lambda result: result["positives"]):
        seeds = result["seeds"]
        a, b, c, d = (
            float(np.mean([record[name] for record in seeds]))
            for name in ("cpu_factors", "cpu_blend", "cpu_top10_factors", "cpu_top10_blend")
        )
        lines.append(
            f"| {result['data']} | {seeds[0]['rank']} | {a:.1f} | {b:.1f} | {b / a:.2f} "
            f"| {c:.2f} | {d:.2f} | {d / c:.2f} | {result['peak_mb']:,.0f} |"
        )
    return lines


def validation(results: list[dict[str, Any]]) -> list[str]:
    if not results:
        return []
    lines = [
        "\n## Choices by validation\n",
        "nDCG@10 on held-out training entries, with weights 1 : 0.3 and with the best weight of the grid.\n",
        "| data | rank | γ | ItemItem | 1 : 0.3 | best | at weight |",
        "|---|---|---|---|---|---|---|",
    ]
    for result in sorted(results, key=lambda result: result["positives"]):
        groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for point in result["points"]:
            changed = ", ".join(f"{name} {value:g}" for name, value in point["items"].items()) or "default"
            groups.setdefault((point["rank"], point["gamma"], changed), []).append(point)
        for (rank, gamma, changed), points in groups.items():
            best = max(points, key=lambda point: point["ndcg@10"])
            fixed, most = (100 * point["ndcg@10"] for point in (points[0], best))
            lines.append(
                f"| {result['data']} | {rank}{' (auto)' if rank == result['auto']['rank'] else ''} | {gamma:g} "
                f"| {changed} | {fixed:.2f} | {most:.2f} | {best['weights'][1]:g} |"
            )
    return lines


def ranks(results: list[dict[str, Any]]) -> list[str]:
    if not results:
        return []
    tried = sorted({int(rank) for result in results for rank in result["ranks"]})
    lines = [
        "\n## The rank of `OneClassMF`, by validation\n",
        "nDCG@10 on a held-out tenth of the training entries, everything else default; in brackets CPU seconds of",
        'training. The last two columns: rank 64 and `rank="auto"` against the best of the row.\n',
        f"| data | users + items | {' | '.join(map(str, tried))} | auto | 64 | auto |",
        "|---" * (len(tried) + 5) + "|",
    ]
    for result in sorted(results, key=lambda result: sum(result["shape"])):
        found = {int(rank): entry for rank, entry in result["ranks"].items()}
        best = max(entry["ndcg@10"] for entry in found.values())
        cells = []
        for rank in tried:
            if rank not in found:
                cells.append("")
                continue
            text = f"{100 * found[rank]['ndcg@10']:.2f}"
            text = f"**{text}**" if found[rank]["ndcg@10"] == best else text
            cells.append(f"{text} ({found[rank]['cpu']:.1f})")
        auto = result["auto_rank"]
        costs = [f"{100 * (found[rank]['ndcg@10'] / best - 1):+.1f} %" if rank in found else "" for rank in (64, auto)]
        lines.append(
            f"| {result['data']} | {sum(result['shape']):,} | {' | '.join(cells)} | {auto} | {costs[0]} | {costs[1]} |"
        )
    return lines


def peers(results: list[dict[str, Any]]) -> list[str]:
    lines = []
    for result in results:
        lines += [
            f"\n## Beside others: {result['data']}\n",
            "Best by validation of six points and up to six neighbours of the best so far, for every method alike;",
            'refitted and tested, one split. `Blend()` is not tuned, and "weights found" chooses its weights itself.',
            f"{edges.LEGEND}",
            "‡ less effort than the others had: the search was ended by a limit on CPU time.\n",
            "| method | nDCG@10 | nDCG@20 | recall@20 | CPU s, final fit | chosen | points |",
            "|---|---|---|---|---|---|---|",
        ]
        order = sorted(result["methods"].items(), key=lambda entry: entry[1].get("test", {"ndcg@10": 0})["ndcg@10"])
        for method, record in order:
            if "skipped" in record:
                lines.append(f"| {method} | – | – | – | – | not run: {record['skipped']} | |")
                continue
            if "test" not in record:  # not finished
                continue
            numbers = " | ".join(f"{100 * record['test'][name]:.2f}" for name in ("ndcg@10", "ndcg@20", "recall@20"))
            tried = [trial["parameters"] for trial in record["trials"]]
            chosen = edges.marked(record["best"], tried) or "defaults"
            points = f"{len(tried) or ''}" + (f"‡, {record['stopped']:g} s" if "stopped" in record else "")
            lines.append(f"| {method} | {numbers} | {record['cpu']:.1f} | {chosen} | {points} |")
    return lines


def tuned(results: list[dict[str, Any]]) -> list[str]:
    lines = []
    for result in results:
        seeds = result["seeds"]
        lines += [
            f"\n## All parameters of a blend by validation: {result['data']}, {result['folds']} folds\n",
            f"A new 9:1 split per seed. Steps that gained more than {result['margin']:g} standard error of the gain on "
            f"held-out training",
            f"entries (a tenth, {result['folds']} times) were kept; the last point was tested once.\n",
            "| seed | points | other than `Blend()` | weight | gain held out | test nDCG@10, `Blend()` | tuned "
            "| recall@20, `Blend()` | tuned |",
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for record in seeds:
            first, best = record["trials"][0], record["best"]
            moved = [f"{name} {value:g}" for name, value in best.items() if value != first["parameters"][name]]
            reached = next(one for one in record["trials"] if one["parameters"] == best)
            cells = " | ".join(
                f"{100 * record[model][metric]:.2f}"
                for metric in ("ndcg@10", "recall@20")
                for model in ("default", "tuned")
            )
            lines.append(
                f"| {record['seed']} | {len(record['trials'])} | {', '.join(moved) or 'nothing'} "
                f"| {record['weight']:g} | {100 * (reached['ndcg@10'] - first['ndcg@10']):+.2f} | {cells} |"
            )
        means = " | ".join(
            mean(seeds, model, metric) for metric in ("ndcg@10", "recall@20") for model in ("default", "tuned")
        )
        lines.append(f"| mean | | | | | {means} |")
    return lines


def default_costs(results: list[dict[str, Any]]) -> list[str]:
    """What Blend()'s rank, degree weights, ItemItem and weights cost against the best point of validation.py."""
    if not results:
        return []
    lines = [
        "\n## What the defaults of `Blend()` cost, by validation\n",
        "nDCG@10 on held-out training entries of one training each: the defaults (rank and γ by the size of the data,",
        'weights 1 : 0.3), and the best of all points of "Choices by validation" with the best weight, which flatters',
        "itself by being chosen.\n",
        "| data | default | best | default costs | best at | points |",
        "|---|---|---|---|---|---|",
    ]
    for result in sorted(results, key=lambda result: result["positives"]):
        points, usual = result["points"], result["auto"]
        own = [
            point for point in points
            if {"rank": point["rank"], "gamma": point["gamma"]} == usual and not point["items"]
        ]  # fmt: skip
        if not own:
            continue
        best = max(points, key=lambda point: point["ndcg@10"])
        where = [f"rank {best['rank']}", f"γ {best['gamma']:g}", f"weight {best['weights'][1]:g}"]
        where += [f"{name} {value:g}" for name, value in best["items"].items()]
        default = own[0]["ndcg@10"]  # the weights 1 : 0.3 are measured first
        lines.append(
            f"| {result['data']} | {100 * default:.2f} | {100 * best['ndcg@10']:.2f} "
            f"| {100 * (1 - default / best['ndcg@10']):.1f} % | {', '.join(where)} | {len(points)} |"
        )
    return lines


def further(results: list[dict[str, Any]]) -> list[str]:
    if not results:
        return []
    names = [result["data"] for result in results]
    lines = [
        "\n## Further ideas\n",
        "Gain of nDCG@10 over `Blend()` on held-out training entries ± its standard error over users; bold where it is",
        "more than two of them. Kept if bold on three sets. Only ml100k has times, so weighting by time cannot win on",
        "three of them.\n",
        f"| idea | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for idea in dict.fromkeys(idea for result in results for idea in result["ideas"]):
        cells = []
        for result in results:
            if idea not in result["ideas"]:
                cells.append("")
                continue
            gain, error = (100 * result["ideas"][idea][name] for name in ("gain", "standard_error"))
            text = f"{gain:+.2f} ± {error:.2f}"
            cells.append(f"**{text}**" if gain > 2 * error else text)
        lines.append(f"| {idea} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--smoke", action="store_true", help="as without: it takes no time")
    options = parser.parse_args()
    results = options.results
    plain = load(results, "quality_", without=("quality_auto_", "quality_one_split_"))
    one_split = load(results, "quality_one_split_")
    found = load(results, "quality_auto_", without=("quality_auto_one_split_",))
    parts = [HEAD, *quality("All defaults", plain)]
    parts += quality("All defaults, one split, the seeds of the models differ", one_split)
    parts += quality("Weights found on held-out training entries", found)
    parts += quality("Weights found, one split", load(results, "quality_auto_one_split_"))
    parts += cost(load(results, "cost_")) + peers(load(results, "peers_")) + further(load(results, "further_"))
    parts += tuned(load(results, "tuned_")) + ranks(load(results, "ranks_"))
    parts += default_costs(load(results, "validation_")) + validation(load(results, "validation_"))
    page = (HERE if results == HERE / "results" else results) / "README.md"
    page.write_text("\n".join(parts) + "\n")
    print(f"{len(parts)} lines, {page.name}")


if __name__ == "__main__":
    main()
