# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus that scrapes mounts of a test, and drawings of a Grafana dashboard's panels from what it has found."""

import json
import math
import re
import subprocess
import urllib.parse
import urllib.request

from harness.processes import ReservedPort, eventually, stop

SCRAPE_S = 1
# A rate needs two scrapes; with four a late one leaves no hole.
WINDOW_S = 4 * SCRAPE_S
REQUEST_S = 20
START_S = 60
# More names would hide their curves.
CURVES_NAMED_MAX = 16


class Prometheus:
    """Scrapes `addresses` each second, until `end`."""

    def __init__(self, folder, addresses):
        folder.mkdir()
        config = folder / "prometheus.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": f"{SCRAPE_S}s", "scrape_timeout": f"{SCRAPE_S}s"},
            "scrape_configs": [{"job_name": "s3rdmafs", "static_configs": [{"targets": addresses}]}]}))
        self._port, self._log = ReservedPort(), open(folder / "log", "wb")
        self._process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self._port.number}"], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    def end(self):
        stop(self._process)
        self._log.close()
        self._port.end()

    def _get(self, path, **query):
        url = f"http://127.0.0.1:{self._port.number}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=REQUEST_S) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port.number}/-/ready", timeout=REQUEST_S):
                return True
        except OSError:  # it does not listen yet, or says 503
            return False

    def wait_until_it_scrapes(self):
        eventually(self._is_ready, START_S, "Prometheus has started")
        eventually(lambda: any(float(one["value"][1]) for one in self._get("query", query="up")), START_S, "it has scraped the mount")

    def values(self, expression, begin, end):
        """Labels -> [(seconds after `begin`, value)] of an expression of the dashboard, without the values that are not finite."""
        asked = expression.replace("$__rate_interval", f"{WINDOW_S}s").replace("$instance", ".*")
        found = self._get("query_range", query=asked, start=begin, end=end, step=SCRAPE_S)
        series = ((one["metric"], [(at - begin, float(value)) for at, value in one["values"]]) for one in found)
        return [(labels, kept) for labels, values in series if (kept := [pair for pair in values if math.isfinite(pair[1])])]


def draw(path, panels):
    """A picture of the panels: pairs of a panel of the dashboard and [(legend, values)]."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    rows = math.ceil(len(panels) / 2)
    figure, axes = pyplot.subplots(rows, 2, figsize=(16, 3.2 * rows), layout="constrained")
    for axis, (panel, curves) in zip(axes.flat, panels, strict=False):
        for legend, values in curves:
            axis.plot(*zip(*values, strict=True), label=legend or "all")
        axis.set_title(f"{panel['title']} [{panel['fieldConfig']['defaults'].get('unit', '')}]", fontsize=10)
        axis.set_ylim(bottom=0)
        if 1 <= len(curves) <= CURVES_NAMED_MAX:
            axis.legend(fontsize=7, loc="upper left")
    for axis in axes.flat[len(panels):]:
        axis.set_axis_off()
    figure.savefig(path, dpi=80)
    pyplot.close(figure)


def legend(pattern, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found.group(1), ""), pattern)
