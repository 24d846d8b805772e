"""The report of a self-test as lines to be read."""

from collections import Counter
from collections.abc import Iterable

from hygiene.judge import Said
from hygiene.selftest import Report, Result

_SHORT = {
    Said.DUPLICATE: "dup",
    Said.A_SUPERSEDES_B: "a>b",
    Said.B_SUPERSEDES_A: "b>a",
    Said.CONTRADICTION: "contra",
    Said.COMPLEMENTARY: "compl",
    Said.UNRELATED: "unrel",
    Said.UNSURE: "unsure",
}


def table(report: Report, per_million: tuple[float, float] | None = None) -> str:
    """
    Return what the report says, as text.

    :param per_million: the prices of a million tokens in and out, where they are known
    """
    lines = [
        f"Judge {report.judge}, prompt {report.prompt_version}, {len(report.results)} pairs",
        "",
        *_figures(report),
    ]
    if per_million is not None:
        lines.append(f"{'cost':24}{report.cost(*per_million):.4f}")
    lines += ["", *_by_shape(report.results), "", *_confusion(report), ""]
    if report.acts_on_nothing:
        lines.append(
            "Of no use: it would act on nothing, and leave to people all that it finds, "
            f"{report.noise} of them needlessly."
        )
    against = report.why_not_certified
    lines.append(f"Not certified: {'; '.join(against)}." if against else "Certified.")
    return "\n".join(lines)


def _figures(report: Report) -> list[str]:
    pairs, clashing, found = len(report.results), report.clashing, report.found_rate
    figures = {
        "protected lost": str(report.protected_lost),
        "retired": f"{report.retirements}, of them wrongly {report.false_invalidations}",
        "false invalidations": f"{report.false_rate:.1%} of {pairs} pairs, "
        f"{report.false_rate_of_retirements:.1%} of {report.retirements} retired",
        "contradictions found": f"{found:.1%} of {clashing}",
        "contradictions missed": f"{1 - found:.1%} of {clashing} ({report.missed})",
        "needless disputes": f"{report.noise_rate:.1%} of {report.compatible} compatible pairs"
        f" ({report.noise})",
        "tokens": f"{report.tokens_in} in, {report.tokens_out} out",
    }
    return [f"{name:24}{figure}" for name, figure in figures.items()]


def _by_shape(results: Iterable[Result]) -> list[str]:
    counts: dict[str, Counter[str]] = {}
    for one in results:
        of_shape = counts.setdefault(str(one.pair.shape), Counter())
        of_shape["pairs"] += 1
        of_shape["clashing"] += one.is_clashing
        of_shape["missed"] += one.is_missed
        of_shape["needless"] += one.is_noise
        of_shape["retired"] += one.retired is not None
        of_shape["wrong"] += one.is_false_invalidation
    columns = ("pairs", "clashing", "missed", "needless", "retired", "wrong")
    rows = [
        f"{shape:27}" + "".join(f"{of_shape[column]:>10}" for column in columns)
        for shape, of_shape in counts.items()
    ]
    return [f"{'':27}" + "".join(f"{column:>10}" for column in columns), *rows]


def _confusion(report: Report) -> list[str]:
    said = [*_SHORT.values(), "none"]
    counts = report.confusion()
    lines = [f"{'labelled, and as judged':27}" + "".join(f"{one:>8}" for one in said)]
    for labelled in _SHORT:
        row = [counts[labelled.value, one] for one in (*(s.value for s in _SHORT), "unusable")]
        lines.append(f"{labelled.value:27}" + "".join(f"{one or '.':>8}" for one in row))
    return lines
