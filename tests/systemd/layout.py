# SPDX-License-Identifier: Apache-2.0
"""Lays out a root before it is booted: a bucket, mount files, units. Units of the boot are enabled.

    layout.py ROOT      as root, after the package was installed there

The tests import the names.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))  # the mount suite's harness/

from harness import content  # noqa: E402
from harness.mount import mount_file  # noqa: E402
from harness.units import MIB  # noqa: E402

FILE_NUMBER, FILE_BYTES = 1, 4 * MIB
# The address of the machine's RDMA device (tools/vm/guest.sh). The server of PORT is there from boot on; that of LATE_PORT once
# a test has started it.
ADDRESS = "10.9.0.1"
PORT, LATE_PORT = 9000, 9001
USER, USER_ID = "reader", 1000


class Server(NamedTuple):
    endpoint: str
    access_key: str = "TESTACCESSKEY"
    secret_key: str = "testsecretkey0123456789"


SERVER, LATE = (Server(f"http://{ADDRESS}:{port}") for port in (PORT, LATE_PORT))
# No byte by HTTP: where RDMA does not work, nothing does.
OVER_RC = {"rdma": {"mode": "require", "fabric": "rc", "threshold": "0"}, "cache": {"size": "64MiB"}}
# How the packaged examples are adapted: by these names for "train", and an idle time that a test can wait for.
EXAMPLES = "usr/share/doc/s3rdmafs/examples"
IDLE_SECONDS = 3


def lay_out_system(root):
    content.write(root / "srv/s3/data/file", FILE_NUMBER, FILE_BYTES)
    folder = root / "etc/s3rdmafs"
    folder.mkdir(exist_ok=True)

    def file(name, server=SERVER):
        (root / "mnt" / name).mkdir()
        return mount_file(folder / f"{name}.toml", server, "data", mount={"point": f"/mnt/{name}"}, **OVER_RC)
    for name in ("boot", "auto", "train"):
        file(name)
    for name in ("late", "missed"):
        file(name, LATE)
    file("secret", SERVER._replace(secret_key="wrong"))
    with open(file("wrong"), "a", encoding="utf-8") as wrong:
        wrong.write('[cach]\nsize = "1GiB"\n')
    file("nowhere")
    (root / "mnt/nowhere").rmdir()

    units = root / "etc/systemd/system"
    for unit in (HERE / "units").iterdir():
        shutil.copy(unit, units)
    for name, kinds in {"boot": ["mount"], "missed": ["mount"], "wrong": ["mount"], "auto": ["mount", "automount"]}.items():
        for kind in kinds:
            text = (root / EXAMPLES / f"mnt-train.{kind}").read_text().replace("train", name)
            (units / f"mnt-{name}.{kind}").write_text(text.replace("=30min", f"={IDLE_SECONDS}"))
    subprocess.run(["systemctl", f"--root={root}", "enable", f"target@{PORT}.service", "reader.service", "mnt-boot.mount",
                    "mnt-missed.mount", "mnt-auto.automount", "s3rdmafs@late.service"], check=True)


def lay_out_user(root):
    subprocess.run(["useradd", "--root", root, "--uid", str(USER_ID), "--create-home", USER], check=True)
    home = root / "home" / USER
    files = home / ".config/s3rdmafs"
    files.mkdir(parents=True)
    (home / "train").mkdir()
    mount_file(files / "train.toml", SERVER, "data", mount={"point": f"/home/{USER}/train"}, **OVER_RC)
    for path in [home, *home.rglob("*")]:
        os.chown(path, USER_ID, USER_ID)
    # The user's systemd runs without a login.
    lingering = root / "var/lib/systemd/linger"
    lingering.mkdir(parents=True, exist_ok=True)
    (lingering / USER).touch()


if __name__ == "__main__":
    lay_out_system(Path(sys.argv[1]))
    lay_out_user(Path(sys.argv[1]))
