# SPDX-License-Identifier: Apache-2.0
"""The report as one HTML file: a table and, for each work, bars drawn as SVG by hand. No file beside it is needed."""

from html import escape

BAR_HEIGHT, GAP, LABEL_WIDTH, PLOT_WIDTH, FIGURE_WIDTH = 18, 8, 110, 420, 190

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1180px; margin: 2em auto; padding: 0 1em; color: #1b1f24 }
table { border-collapse: collapse; font-size: 13px } td, th { border-bottom: 1px solid #d5d9de; padding: 4px 8px;
text-align: left; vertical-align: top } .short { color: #b3261e; font-weight: 600 } .good { color: #1a7f37 }
h2 { font-size: 16px; margin: 1.6em 0 .3em } .machine { color: #57606a; font-size: 13px }
svg text { font: 12px system-ui, sans-serif; fill: currentColor }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e3e6ea } td, th { border-color: #363c43 } }
"""


def _bar(y, label, median, low, high, most, is_ours):
    def x(value):
        return LABEL_WIDTH + value / most * PLOT_WIDTH
    middle = y + BAR_HEIGHT / 2
    colour = "#2563c9" if is_ours else "#8a94a0"
    return (f'<text x="{LABEL_WIDTH - 8}" y="{middle + 4}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{LABEL_WIDTH}" y="{y}" width="{x(median) - LABEL_WIDTH:.1f}" height="{BAR_HEIGHT}"'
            f' fill="{colour}"/>'
            f'<path d="M{x(low):.1f} {middle}H{x(high):.1f}M{x(low):.1f} {middle - 4}v8M{x(high):.1f} {middle - 4}v8"'
            f' stroke="#e08e0b" stroke-width="2" fill="none"/>'
            f'<text x="{x(high) + 8:.1f}" y="{middle + 4}">{median:.3g} [{low:.3g}-{high:.3g}]</text>')


def bars(measured, metric):
    """An SVG with a bar for each side: its median, and in orange its spread. Empty where nobody has the metric."""
    sides = [(label, one.median(metric), one.values(metric)) for label, one in measured.items() if one.values(metric)]
    if not sides:
        return ""
    most = max(max(values) for _, _, values in sides) or 1
    height = len(sides) * (BAR_HEIGHT + GAP)
    drawn = [_bar(row * (BAR_HEIGHT + GAP), label, median, min(values), max(values), most, label == "s3rdmafs")
             for row, (label, median, values) in enumerate(sides)]
    width = LABEL_WIDTH + PLOT_WIDTH + FIGURE_WIDTH
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
            f' aria-label="{escape(metric)}">{"".join(drawn)}</svg>')


def _cell(text):
    css = {"holds": ' class="good"', "**falls short**": ' class="short"', "not measured": ' class="short"'}
    return f"<td{css.get(text, '')}>{escape(text.strip('*'))}</td>"


def page(machine, results, notes, headings, rows):
    table = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    plots = []
    for work, measured, _ in results:
        plots.append(f"<h2>{escape(work.title)}" + (f" (dma {work.dma})" if work.dma else "") + "</h2>")
        for metric in work.metrics:
            if drawn := bars(measured, metric):
                plots.append(f"<div>{escape(metric)}</div>{drawn}")
    facts = "".join(f"<div>{escape(name)}: {escape(text)}</div>" for name, text in machine.items())
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmarks of s3rdmafs</title>'
            f"<style>{STYLE}</style><h1>Benchmarks of s3rdmafs</h1><div class=machine>{facts}</div>"
            f"<p>{escape(notes)}</p><table><tr>"
            + "".join(f"<th>{escape(heading)}</th>" for heading in headings)
            + f"</tr>{table}</table>{''.join(plots)}</html>\n")
