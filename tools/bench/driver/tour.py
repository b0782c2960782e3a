# SPDX-License-Identifier: Apache-2.0
"""The tour: twelve rows that tell how the mount compares. Each with the question that it answers."""

ROWS = {
    "sequential-direct": "does the mount cost more than FUSE itself does?",
    "sequential-4": "does it stay so with several readers?",
    "past-sequential": "how fast is a program that is not changed, under s3rdmafs run?",
    "past-mapped": "how fast is one that maps what the mount holds, without a copy?",
    "real-copies": "how do others read the same object, when each byte is moved and checked?",
    "http": "is it as good with a server that has no RDMA?",
    "resident-read": "what does a read of a resident object cost, against a local file?",
    "random-cold": "do small reads at random places cost more than their requests?",
    "small-files": "how do others read many small files, as data sets have them?",
    "create": "how do others create many small files?",
    "write-stream": "does a stream of writes, as of a checkpoint, cost more than FUSE itself does?",
    "ls-rivals": "how do others list a large folder?",
}
