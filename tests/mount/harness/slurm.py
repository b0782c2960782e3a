# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster of one node: munged, slurmctld and slurmd of the distribution, on 127.0.0.1 and in one folder.

Jobs run as a user without rights, with packaging/slurm as the site's prolog, task prolog and epilog.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from .processes import ReservedPort, eventually, find_by_command_line, mounts_below, stop, unmount_lazily
from .settings import ROOT

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol")
SECONDS = 60
USER = "nobody"

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
PrologFlags=Alloc
Prolog={scripts}/prolog
Epilog={scripts}/epilog
TaskProlog={scripts}/task-prolog
NodeName={host} NodeAddr=127.0.0.1 CPUs=8
PartitionName=all Nodes=ALL Default=YES State=UP
"""


class Slurm:
    """Runs until end(). `work` is a folder of the jobs' user."""

    def __init__(self, s3rdmafs):
        # The user of the jobs cannot enter pytest's folders, nor perhaps the one of the build.
        self.folder = Path(tempfile.mkdtemp(prefix="s3rdmafs-slurm-"))
        self.folder.chmod(0o755)
        self.host = socket.gethostname().split(".")[0]
        self._processes, self._ports = [], [ReservedPort(), ReservedPort()]
        try:
            self._prepare(s3rdmafs)
            self._start()
        except BaseException:
            self.end()
            raise

    def _prepare(self, s3rdmafs):
        self.jobs, self.work, self.scripts = self.folder / "jobs", self.folder / "work", self.folder / "scripts"
        for name in ("state", "spool", "work", "admin"):
            (self.folder / name).mkdir()
        user = pwd.getpwnam(USER)
        os.chown(self.work, user.pw_uid, user.pw_gid)
        shutil.copytree(ROOT / "packaging/slurm", self.scripts)
        self.program = Path(shutil.copy2(s3rdmafs, self.folder))
        with open(self.scripts / "settings", "a", encoding="utf-8") as settings:
            settings.write(f"\njobs_folder={self.jobs}\nmount_files={self.folder}/admin\nprogram={self.program}\nwait_s=30\n")
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            host=self.host, folder=self.folder, scripts=self.scripts,
            controller_port=self._ports[0].number, node_port=self._ports[1].number))

    def _start(self):
        munge = self.folder / "munge"
        self._run_daemon("munged", "--foreground", "--force", f"--key-file={munge}.key", f"--socket={munge}.socket",
                         f"--pid-file={munge}.pid", f"--log-file={munge}.log", f"--seed-file={munge}.seed")
        eventually(Path(f"{munge}.socket").exists, SECONDS, "munged listens")
        for name in ("slurmctld", "slurmd"):
            self._run_daemon(name, "-D", "-f", self.configuration)
        eventually(lambda: self.node_state() == "IDLE", SECONDS, f"the node is idle; {self.logs()}")

    def _run_daemon(self, name, *arguments):
        with open(self.folder / f"{name}.output", "wb") as output:
            self._processes.append(subprocess.Popen([shutil.which(name), *arguments], stdin=subprocess.DEVNULL,
                                                    stdout=output, stderr=subprocess.STDOUT))

    def logs(self):
        return "\n".join(file.read_text(errors="replace") for file in self.folder.glob("*.output"))

    def run(self, name, *arguments, check=True):
        """One of Slurm's commands, as the jobs' user."""
        user = pwd.getpwnam(USER)
        result = subprocess.run(
            [shutil.which(name), *map(str, arguments)], check=False, timeout=SECONDS, cwd="/", text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            user=user.pw_uid, group=user.pw_gid, extra_groups=[],
            env={"SLURM_CONF": str(self.configuration), "PATH": "/usr/bin:/bin", "HOME": "/"})
        assert result.returncode == 0 or not check, f"{name}: {result.stdout}{self.logs()}"
        return result.stdout

    def node_state(self):
        """Empty while the controller does not answer."""
        words = self.run("scontrol", "show", "node", self.host, check=False).split()
        return next((word[len("State="):] for word in words if word.startswith("State=")), "")

    def submit(self, script, **variables):
        """Returns the job's number."""
        export = ",".join(["ALL", *(f"{name}={value}" for name, value in variables.items())])
        file = self.work / f"script{len(list(self.work.iterdir()))}"
        file.write_text(f"#!/bin/bash\n{script}\n")
        return int(self.run("sbatch", "--parsable", f"--export={export}", f"--chdir={self.work}",
                            f"--output={self.work}/%j.out", file))

    def job_state(self, job):
        words = self.run("scontrol", "show", "job", job).split()
        return next(word[len("JobState="):] for word in words if word.startswith("JobState="))

    def wait(self, job):
        """Until the job has ended and its epilog is done; returns its state and its output."""
        ended, folder = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"), self.jobs / str(job)
        # The folder first: to ask the controller costs a process.
        eventually(lambda: not folder.exists() and self.job_state(job) in ended and not folder.exists(), SECONDS,
                   f"job {job} and its epilog end; {self.logs()}")
        output = self.work / f"{job}.out"
        return self.job_state(job), output.read_text() if output.exists() else ""

    def point(self, job):
        return self.jobs / str(job) / "mount"

    def daemons(self, job):
        return find_by_command_line("mount", self.point(job))

    def end(self):
        for process in reversed(self._processes):
            stop(process, 20)
        for port in self._ports:
            port.end()
        left = mounts_below(self.folder)
        for point in left:
            unmount_lazily(point)
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not left, f"left behind: {left}"
