"""Draw docs/pictures/altruism.svg: figure 2 of Carbyne's paper, as the kernels run it.

python -m scripts.altruism_picture
"""

from collections.abc import Sequence
from dataclasses import dataclass

from altruism import StageGraph
from fairness import FloatArray
from scripts.papers.dag_pool import PoolJob, run_pool
from scripts.papers.dag_pool.comparison import policy_named
from scripts.papers.dag_pool.pool import LiveJob, PoolPolicy
from scripts.picture import PICTURES

_PANELS = {
    "shares alone": "each job with its share alone: they end at 2.1 and 2.0",
    "carbyne": "altruism: they end at 2.1 and 1.0",
}
_COLOURS = ("#d98c5f", "#5b7a99")
_JOBS = ("gives", "gets")
_INK, _SOFT = "#1f2933", "#f4f1ea"
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 360, 240, 60, 70, 60
_ENDS = 2.2


def figure_2() -> list[PoolJob]:
    """The jobs of figure 2, on a pool of one resource."""
    first = StageGraph.of(
        [[False, False, False], [False, False, False], [True, True, False]],
        [2, 3, 1],
        [[0.04], [0.21], [0.21]],
        [1.0, 1.0, 0.1],
    )
    second = StageGraph.of([[False]], [2], [[0.29]], [1.0])
    return [PoolJob.known("gives", 0.0, first), PoolJob.known("gets", 0.0, second)]


@dataclass(frozen=True, slots=True)
class _Block:
    job: int
    stage: int
    start_s: float
    end_s: float
    low: float
    high: float


class _Recorded:
    """A policy whose launches are laid one above the other, each where there is room."""

    def __init__(self, policy: PoolPolicy) -> None:
        self._policy = policy
        self.blocks: list[_Block] = []

    def launches(self, jobs: Sequence[LiveJob], free: FloatArray, now_s: float) -> Sequence[tuple[LiveJob, int, int]]:
        """See `PoolPolicy`."""
        found = self._policy.launches(jobs, free, now_s)
        for job, stage, count in found:
            for _ in range(count):
                self._lay(job, stage, now_s)
        return found

    def next_look_s(self, now_s: float) -> float:
        """See `PoolPolicy`."""
        return self._policy.next_look_s(now_s)

    def _lay(self, job: LiveJob, stage: int, now_s: float) -> None:
        size, seconds = float(job.graph.demand[stage][0]), float(job.graph.duration[stage])
        taken = [each for each in self.blocks if each.end_s > now_s + 1e-9]
        lows = [0.0, *(each.high for each in taken)]
        low = min(at for at in lows if all(at + size <= each.low + 1e-9 or at >= each.high - 1e-9 for each in taken))
        self.blocks.append(_Block(job.number, stage, now_s, now_s + seconds, low, low + size))


def picture() -> str:
    """The whole drawing."""
    height = _TOP + _HEIGHT + 70
    width = _LEFT + len(_PANELS) * (_WIDTH + _GAP)
    parts = [f'<rect width="{width}" height="{height}" fill="{_SOFT}"/>']
    for number, (policy, title) in enumerate(_PANELS.items()):
        recorded = _Recorded(policy_named(policy, 1))
        run_pool(figure_2(), recorded)
        parts += _panel(_LEFT + number * (_WIDTH + _GAP), title, recorded.blocks)
    for job, name in enumerate(_JOBS):
        x, y = _LEFT + 150 * job, height - 24
        parts.append(f'<rect x="{x}" y="{y - 12}" width="14" height="14" fill="{_COLOURS[job]}"/>')
        parts.append(_text(x + 22, y, f"job that {name}", anchor="start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
        f"{''.join(parts)}</svg>\n"
    )


def _panel(left: int, title: str, blocks: Sequence[_Block]) -> list[str]:
    parts = [_text(left, _TOP - 24, title, size=13, anchor="start")]
    parts.append(f'<rect x="{left}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="white" stroke="{_INK}"/>')
    for each in blocks:
        x, y = left + each.start_s / _ENDS * _WIDTH, _TOP + (1 - each.high) * _HEIGHT
        width, height = (each.end_s - each.start_s) / _ENDS * _WIDTH, (each.high - each.low) * _HEIGHT
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        parts.append(f'<rect {place} fill="{_COLOURS[each.job]}" stroke="white"/>')
        if height > 12 and width > 40:  # noqa: PLR2004 - room for its name
            name = f"{_JOBS[each.job]}: stage {each.stage}"
            parts.append(_text(round(x + width / 2), round(y + height / 2 + 4), name, size=11))
    ticks = (0, 1, 2)
    parts += [_text(left + round(at / _ENDS * _WIDTH), _TOP + _HEIGHT + 18, str(at), size=11) for at in ticks]
    return parts


def _text(x: int, y: int, text: str, *, size: int = 13, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{_INK}">{text}</text>'


if __name__ == "__main__":
    (PICTURES / "altruism.svg").write_text(picture(), "utf-8")
