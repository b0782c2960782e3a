# SPDX-License-Identifier: Apache-2.0
"""One picture of all rows, as an SVG by hand: in each, the longest bar is the fastest. Two columns of rows, so that it fits a screen."""

from html import escape

from .work import DAEMON_CPU

RIVALS = {"s3fs", "rclone"}
OURS, RIVAL, CEILING = "#2563c9", "#e08e0b", "#b4bcc6"
NAMES = {"null": "empty FUSE", "raw client": "object client", "sequential": "s3rdmafs, sequential"}
LEGEND = ((OURS, "s3rdmafs", 76), (RIVAL, "others", 56), (CEILING, "what this machine allows: FUSE that does nothing, tmpfs, the object client", 0))

WIDTH, MARGIN, GUTTER = 1240, 28, 44
COLUMN = (WIDTH - 2 * MARGIN - GUTTER) / 2
LABEL, FIGURES = 152, 152  # left of the bars: who; right: the figure and the ratio
BARS = COLUMN - LABEL - FIGURES
TITLE_HEIGHT, BAR_HEIGHT, BAR_STEP, ROW_GAP, HEAD = 20, 15, 19, 18, 92

STYLE = ("text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #1b1f24 } .title { font-weight: 600 }"
         " .head { font-size: 20px; font-weight: 600 } .quiet { fill: #57606a } .end { text-anchor: end }"
         " .better { fill: #1a7f37; font-weight: 600 } .worse { fill: #b3261e; font-weight: 600 }")


def _text(x, y, text, css=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(text)}</text>'


def _bar(x, y, width, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{BAR_HEIGHT}" rx="2" fill="{colour}"/>'


def _is_ours(label, work):
    return label == "s3rdmafs" or work.sides[label].on.startswith("ours")


def _colour(label, work):
    if _is_ours(label, work):
        return OURS
    return RIVAL if label in RIVALS else CEILING


def figure(value, metric):
    """As a person reads it: "2.4 GB/s", "11,600 /s"."""
    if metric.startswith("GB/s"):
        return f"{value:.2f} GB/s" if value < 10 else f"{value:.1f} GB/s"
    return f"{value:,.0f} {metric.removeprefix('ops')}"


def ratio(ours, theirs):
    """How many times as fast as a rival we are."""
    times = ours / theirs
    return f"{times:.1f}×" if times >= 1.95 else f"{times:.2f}×"


def _compared(label, x, y, ours, theirs):
    if label in RIVALS:
        return _text(x, y, ratio(ours, theirs), "end " + ("better" if ours >= theirs else "worse"))
    return _text(x, y, f"{ours / theirs:.0%}", "end quiet")


def _sides(work, measured):
    """[(label, median)] by the row's first measure, ours first."""
    metric = next(metric for metric in work.metrics if metric != DAEMON_CPU)
    return metric, [(label, one.median(metric)) for label, one in measured.items() if one.median(metric)]


def _row(x, y, work, metric, sides):
    most, ours = max(value for _, value in sides), dict(sides).get("s3rdmafs")
    drawn = [_text(x, y + 13, work.title, "title")]
    for label, value in sides:
        y += TITLE_HEIGHT if len(drawn) == 1 else BAR_STEP
        base = y + BAR_HEIGHT - 3
        drawn += [_text(x + LABEL - 10, base, NAMES.get(label, label), "end" + ("" if _is_ours(label, work) else " quiet")),
                  _bar(x + LABEL, y, value / most * BARS, _colour(label, work)),
                  _text(x + LABEL + BARS + 90, base, figure(value, metric), "end")]
        if ours and not _is_ours(label, work):
            drawn.append(_compared(label, x + COLUMN, base, ours, value))
    return "".join(drawn)


def _height(sides):
    return TITLE_HEIGHT + len(sides) * BAR_STEP + ROW_GAP


def _legend(y):
    drawn, x = [], MARGIN
    for colour, text, width in LEGEND:
        drawn += [_bar(x, y - 12, BAR_HEIGHT, colour), _text(x + BAR_HEIGHT + 7, y, text)]
        x += BAR_HEIGHT + 7 + width
    return "".join(drawn) + _text(WIDTH - MARGIN, y, "s3rdmafs: × as fast as others; % of what the machine allows", "quiet end")


def svg(results, note):
    """`note`: one line below the title, as the machine."""
    rows = []
    for work, measured, _ in results:
        metric, sides = _sides(work, measured)
        if sides and work.sides:  # the resident set is a row of its own, without any
            rows.append((work, metric, sides))
    total = sum(_height(sides) for _, _, sides in rows)
    drawn, ys, column = [], [HEAD, HEAD], 0
    for work, metric, sides in rows:
        if column == 0 and ys[0] - HEAD + _height(sides) / 2 > total / 2:
            column = 1
        drawn.append(_row(MARGIN + column * (COLUMN + GUTTER), ys[column], work, metric, sides))
        ys[column] += _height(sides)
    height = max(ys) + MARGIN - ROW_GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
            f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
            + _text(MARGIN, 38, "s3rdmafs beside others, on this machine", "head")
            + _text(WIDTH - MARGIN, 38, note, "quiet end") + _legend(68) + "".join(drawn) + "</svg>\n")
