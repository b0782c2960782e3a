# SPDX-License-Identifier: Apache-2.0
"""Epochs of a data loader: four workers share out the samples of files and shards in a new random order each time, twice
through a cache smaller than the data. tools/bench/train.py is the same with PyTorch, measured."""

import multiprocessing
import os
import random
import subprocess
import sys

import pytest
from harness.mount import assert_nothing_held, total
from harness.settings import ROOT
from harness.units import MIB

BENCH = ROOT / "tools/bench"
sys.path.insert(0, str(BENCH))
import samples  # noqa: E402

pytestmark = pytest.mark.needs_fuse

BUCKET = "training"
WORKERS, EPOCHS = 4, 2
SET = samples.TrainingSet.of(160 * MIB)
CACHE = {"size": "80MiB", "resident_size": "16MiB"}  # half the data


def make(folder, training_set):
    folder.mkdir()
    for index in range(training_set.files):
        samples.write_file(folder / samples.FILE_NAME.format(index), samples.number_in_file(index))
    for shard in range(training_set.shards):
        samples.write_shard(folder / samples.SHARD_NAME.format(shard), shard)


def work(folder, training_set, worker):
    """One worker of all: (samples read, what was wrong)."""
    reader, count = samples.Reader(folder, training_set), 0
    for epoch in range(EPOCHS):
        order = list(range(training_set.count))
        random.Random(epoch).shuffle(order)
        for index in order[worker::WORKERS]:
            try:
                reader.read(index)
            except (OSError, ValueError) as error:
                return count, str(error)
            count += 1
    return count, ""


def load(folder, training_set):
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        answers = [pool.apply_async(work, (folder, training_set, worker)) for worker in range(WORKERS)]
        done = [answer.get(300) for answer in answers]
    return sum(count for count, _ in done), [why for _, why in done if why]


@pytest.mark.parametrize("mode", ["require", "off"], ids=["rdma", "http"])
def test_every_sample_of_every_epoch_is_right(site, mode):
    target = site.target()
    make(target.root / BUCKET, SET)
    mounted = site.mount(target, BUCKET, cache=CACHE, rdma={"mode": mode})
    count, wrong = load(mounted.point, SET)
    assert not wrong, wrong
    assert count == EPOCHS * SET.count
    assert total(mounted.stats(), "cache_evictions_total") > 0, "the control: the data was more than the cache"
    assert_nothing_held(mounted)


@pytest.mark.parametrize("name, sample", [(samples.FILE_NAME.format(3), 3), (samples.SHARD_NAME.format(0), 8)],
                         ids=["file", "shard"])
def test_a_sample_with_a_wrong_byte_is_found(site, name, sample):
    """The control: its last byte is changed. The first sample of the shard is the one after those in files."""
    target, little = site.target(), samples.TrainingSet(files=8, shards=1)
    make(target.root / BUCKET, little)
    number = samples.number_in_file(sample) if sample < little.files else samples.number_in_shard(0, 0)
    with open(target.root / BUCKET / name, "r+b") as file:
        file.seek(samples.size_of(number) - 1)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    mounted = site.mount(target, BUCKET)
    _, wrong = load(mounted.point, little)
    assert len(wrong) == 1 and wrong[0].startswith(f"sample {sample} in "), wrong


def test_without_pytorch_the_benchmark_says_how_to_get_it(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('not here')\n")
    done = subprocess.run([sys.executable, BENCH / "train.py", "--files", "1", "--shards", "1", tmp_path],
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=False, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "setup.sh --bench" in done.stderr
