#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of a training job, without the training: PyTorch's DataLoader with 4 workers hands shuffled batches to
this process, epoch after epoch. Prints what it did as JSON, as read_load does.

    train.py --files N --shards N [--epochs N] FOLDER

Every sample is checked, and that each came once an epoch. One that is wrong ends it with a message. The workers do
what an image pipeline does: cut, resize, flip, normalise. (What they cut out is pixels already: nothing is decoded.)
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import samples

try:
    import torch
    from torch.nn.functional import interpolate
    from torch.utils.data import DataLoader, Dataset
except ImportError:
    sys.exit("PyTorch is not installed: 'tools/setup.sh --bench' installs Debian's python3-torch")

WORKERS, BATCH = 4, 32
# The part that is taken of a sample: an image of 180 x 180 in three colours, less than the smallest sample holds; and
# the size that networks are trained with, together with the usual mean and deviation of such images.
IMAGE = (3, 180, 180)
IMAGE_BYTES = IMAGE[0] * IMAGE[1] * IMAGE[2]
TRAINED_SIZE, MEAN, DEVIATION = (224, 224), 0.45, 0.225


class Images(Dataset):
    """Index and image of each sample; the workers, copies of this process, open files of their own."""

    def __init__(self, folder, training_set):
        self._folder, self._set, self._reader = folder, training_set, None

    def __len__(self):
        return self._set.count

    def __getitem__(self, index):
        self._reader = self._reader or samples.Reader(self._folder, self._set)
        sample = self._reader.read(index)
        image = torch.frombuffer(bytearray(sample[:IMAGE_BYTES]), dtype=torch.uint8).reshape(1, *IMAGE).float().div_(255)
        image = interpolate(image, TRAINED_SIZE, mode="bilinear", align_corners=False)[0]
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
        return index, image.sub_(MEAN).div_(DEVIATION)


def run_epoch(loader, count):
    """Seconds from the first batch's request to the last batch."""
    began = time.monotonic()
    indices = torch.cat([indices for indices, _images in loader])
    seconds = time.monotonic() - began
    if not torch.equal(indices.sort().values, torch.arange(count)):
        sys.exit("not every sample came once in this epoch")
    return seconds


def cpu_seconds(whose):
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--files", type=int, required=True)
    parser.add_argument("--shards", type=int, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)  # the same order for every contestant
    wanted = samples.TrainingSet(options.files, options.shards)
    loader = DataLoader(Images(options.folder, wanted), batch_size=BATCH, shuffle=True, num_workers=WORKERS,
                        persistent_workers=True)
    seconds = [run_epoch(loader, wanted.count) for _ in range(options.epochs)]
    size = sum(samples.size_of(samples.number_in_file(index)) for index in range(wanted.files)) + sum(
        samples.size_of(samples.number_in_shard(shard, place))
        for shard in range(wanted.shards) for place in range(samples.SHARD_SAMPLES))
    del loader  # its workers end, so that their processor time counts
    print(json.dumps({"bytes": size * options.epochs, "ops": wanted.count * options.epochs, "seconds": sum(seconds),
                      "cpu_seconds": cpu_seconds(resource.RUSAGE_SELF) + cpu_seconds(resource.RUSAGE_CHILDREN),
                      "p50_us": 0, "samples_per_s": [wanted.count / one for one in seconds]}))


if __name__ == "__main__":
    main()
