# SPDX-License-Identifier: Apache-2.0
"""logrotate with the file of packaging/ rotates the log of a running mount, which goes on in the new one."""

import subprocess

import pytest
from harness.mount import COMMAND_SECONDS
from harness.settings import ROOT

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_root, pytest.mark.needs("logrotate")]


def rotate(folder, logs):
    text = (ROOT / "packaging/logrotate.d/s3rdmafs").read_text()
    assert "/var/log/s3rdmafs/*.log" in text
    (folder / "rotate").write_text(text.replace("/var/log/s3rdmafs/*.log", f"{logs}/*.log"))
    subprocess.run(["logrotate", "--force", "--state", folder / "state", folder / "rotate"], check=True,
                   timeout=COMMAND_SECONDS)


def test_the_log_of_a_running_mount_is_rotated_and_goes_on(site, tmp_path):
    server = site.target(bucket="logged")
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o755)
    mounted = site.mount(server, "logged", log={"file": str(logs / "train.log"), "level": "debug"})
    before = (logs / "train.log").read_text()
    assert before
    rotate(tmp_path, logs)
    assert (logs / "train.log.1").read_text().startswith(before)
    assert not (logs / "train.log").read_text()
    mounted.unmount()
    after = (logs / "train.log").read_text()
    assert after and "\0" not in after, "it begins at its beginning"
