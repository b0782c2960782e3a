# SPDX-License-Identifier: Apache-2.0
"""Jobs of a real Slurm with mounts of their own: packaging/slurm as prolog, task prolog and epilog."""

import hashlib
import os
import pwd
import signal

import pytest
from harness import content
from harness.mount import mount_file
from harness.processes import eventually, mounts_below
from harness.slurm import PROGRAMS, SECONDS, USER, Slurm
from harness.writing import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_root, pytest.mark.needs(*PROGRAMS)]

BUCKETS = ("first", "second")
SIZE = 20 * MIB
READ_FOR_EVER = 'while cat "$S3RDMAFS_MOUNT/data" > /dev/null; do : > reading-$SLURM_JOB_ID; done'


@pytest.fixture(scope="module")
def server(shared_site):
    made = shared_site.target()
    for seed, bucket in enumerate(BUCKETS):
        (made.root / bucket).mkdir()
        content.write(made.root / bucket / "data", seed, SIZE)
    return made


@pytest.fixture(scope="module")
def slurm(s3rdmafs):
    made = Slurm(s3rdmafs)
    yield made
    made.end()


@pytest.fixture(autouse=True)
def node_is_idle_and_has_nothing_left(slurm):
    yield
    eventually(lambda: slurm.node_state() == "IDLE", SECONDS, "the node is idle, not drained")
    assert not mounts_below(slurm.folder)
    assert not list(slurm.jobs.iterdir())


@pytest.fixture(scope="module")
def files(slurm, server):
    """A mount file for each bucket, the user's own."""
    user = pwd.getpwnam(USER)
    made = [mount_file(slurm.work / f"{bucket}.toml", server, bucket, cache={"size": "64MiB"}) for bucket in BUCKETS]
    for file in made:
        os.chown(file, user.pw_uid, user.pw_gid)
    return made


def is_reading(slurm, job):
    return (slurm.work / f"reading-{job}").exists()


def test_a_job_and_its_steps_read_one_mount_that_is_gone_afterwards(slurm, server, files):
    job = slurm.submit('echo "$S3RDMAFS_MOUNT"; sha256sum < "$S3RDMAFS_MOUNT/data"\n'
                       'srun --ntasks=1 sh -c \'sha256sum < "$S3RDMAFS_MOUNT/data"\'\n'
                       'srun --ntasks=1 sh -c \'sha256sum < "$S3RDMAFS_MOUNT/data"\'; pgrep --count s3rdmafs --uid "$(id -u)"',
                       S3RDMAFS_MOUNT_FILE=files[0])
    state, output = slurm.wait(job)
    digest = hashlib.sha256((server.root / "first/data").read_bytes()).hexdigest()
    assert output.split() == [str(slurm.point(job)), *([digest, "-"] * 3), "1"], slurm.logs()
    assert state == "COMPLETED"
    assert not slurm.daemons(job)


def test_a_job_that_asks_for_none_has_none(slurm):
    state, output = slurm.wait(slurm.submit('echo "mount=$S3RDMAFS_MOUNT"'))
    assert (state, output) == ("COMPLETED", "mount=\n")


def test_a_job_that_is_cancelled_in_mid_read_leaves_nothing(slurm, files):
    own = f"{slurm.jobs}/$SLURM_JOB_ID/user/own"
    job = slurm.submit(f'mkdir "{own}"; {slurm.program} mount {files[1]} "{own}"; {READ_FOR_EVER}', S3RDMAFS_MOUNT_FILE=files[0])
    eventually(lambda: is_reading(slurm, job), SECONDS, "the job reads")
    assert len([point for point in mounts_below(slurm.folder) if f"/{job}/" in point]) == 2, "one that the job made itself"
    assert slurm.daemons(job) and str(slurm.point(job)) in mounts_below(slurm.folder), "the control: it is there meanwhile"
    slurm.run("scancel", "--signal=KILL", "--full", job)
    state, _ = slurm.wait(job)
    assert state != "COMPLETED"
    assert not slurm.daemons(job)


def test_a_mount_whose_daemon_was_killed_is_gone_too(slurm, files):
    job = slurm.submit(READ_FOR_EVER, S3RDMAFS_MOUNT_FILE=files[0])
    eventually(lambda: is_reading(slurm, job), SECONDS, "the job reads")
    os.kill(slurm.daemons(job)[0], signal.SIGKILL)
    slurm.wait(job)


def test_two_jobs_of_a_node_do_not_disturb_each_other(slurm, files):
    first, second = (slurm.submit(READ_FOR_EVER, S3RDMAFS_MOUNT_FILE=file) for file in files)
    eventually(lambda: is_reading(slurm, first) and is_reading(slurm, second), SECONDS, "both read")
    slurm.run("scancel", first)
    slurm.wait(first)
    (slurm.work / f"reading-{second}").unlink()
    eventually(lambda: is_reading(slurm, second), SECONDS, "the second one still reads")
    assert slurm.job_state(second) == "RUNNING"
    slurm.run("scancel", second)
    slurm.wait(second)


def bad_files(slurm):
    """{name of the mount file: what the job is told}."""
    wrong = slurm.work / "wrong.toml"
    wrong.write_text("[bucket]\nnam = 'x'\n")
    of_root = slurm.folder / "of-root.toml"
    of_root.write_text("")
    os.chown(wrong, pwd.getpwnam(USER).pw_uid, -1)
    return {wrong: "no such key", of_root: "neither below", slurm.work / "none": "names no file",
            f"$(touch {slurm.work}/injected);`touch {slurm.work}/injected`": "names no file"}


def test_a_bad_mount_file_fails_the_job_and_says_why_and_the_node_stays(slurm):
    jobs = {slurm.submit("echo ran", S3RDMAFS_MOUNT_FILE=file): said for file, said in bad_files(slurm).items()}
    for job, said in jobs.items():
        state, output = slurm.wait(job)
        assert state == "FAILED" and said in output and "ran" not in output, f"{state} {output} {slurm.logs()}"
    assert not (slurm.work / "injected").exists()


def test_a_job_for_which_the_mount_is_optional_runs_without(slurm):
    job = slurm.submit('echo "mount=$S3RDMAFS_MOUNT"', S3RDMAFS_MOUNT_FILE="/none", S3RDMAFS_MOUNT_OPTIONAL=1)
    state, output = slurm.wait(job)
    assert state == "COMPLETED" and output.endswith("mount=\n"), output
