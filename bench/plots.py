"""One picture a benchmark: how the times are spread, beside those of the floor."""

from pathlib import Path
from typing import Any

INK, OURS, FLOOR = "#222222", "#1f6feb", "#9a9a9a"


def drawn(results: dict[str, Any], folder: Path) -> list[Path]:
    """Return the pictures of those results that have single times."""
    return [
        _spread(name, one, folder)
        for name, one in results["benchmarks"].items()
        if one.get("times")
    ]


def _spread(name: str, one: dict[str, Any], folder: Path) -> Path:
    import matplotlib as mpl  # noqa: PLC0415  slow to load, and only wanted here

    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(7, 3.6), dpi=120)
    for label, times, colour in (
        ("floor", one["times"]["floor"], FLOOR),
        ("measured", one["times"]["ours"], OURS),
    ):
        ordered = sorted(times)
        shares = [100 * (place + 1) / len(ordered) for place in range(len(ordered))]
        axes.plot(ordered, shares, color=colour, linewidth=2, label=label)
    axes.set_xlabel("time of one request [ms]")
    axes.set_ylabel("requests that took no longer [%]")
    axes.set_xlim(left=0, right=1.3 * max(one["value_p95"], one["against_p95"]))
    axes.set_title(
        f"{name}: median {one['value']} ms, {one['ratio']} x the floor (target {one['target']})",
        color=INK,
        fontsize=10,
    )
    axes.grid(color="#e6e6e6")
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    path = folder / f"{name}.png"
    figure.savefig(path)
    plt.close(figure)
    return path
