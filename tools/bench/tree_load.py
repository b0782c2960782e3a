#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Works on names and on files that are written, as programs do them. Prints the JSON that read_load prints.

    tree_load.py ls --expect N FOLDER                       ls -l
    tree_load.py find [--sizes] --expect N FOLDER           find -type f; with --sizes it asks for each file's
    tree_load.py stat --files N --processes N FOLDER        stat of f00000, f00001, ... without a listing
    tree_load.py create --files N --size BYTES --writers N FOLDER
    tree_load.py write --size BYTES [--before-close] FILE   in blocks of 1 MiB
    tree_load.py rewrite --writes N --part BYTES FILE       4 KiB each, at random; its bytes are those of the parts
    tree_load.py copy FOLDER FOLDER                         cp -r
    tree_load.py rename --size BYTES FOLDER                 write, close, rename
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time

BLOCK, PAGE = 1 << 20, 4096


class Wrong(Exception):
    """The work was not done, so that no time of it counts."""


def output_of(*command):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}).stdout


def expect(wish, count):
    if count != wish.expect:
        raise Wrong(f"{count} files instead of {wish.expect}")
    return 0, count


def list_long(wish):
    return expect(wish, output_of("ls", "-l", wish.path).count(b"\n") - 1)  # the line "total"


def walk(wish):
    printed = output_of("find", wish.path, "-type", "f", "-printf", "%s\n" if wish.sizes else "\n")
    return expect(wish, printed.count(b"\n"))


def by_processes(count, work):
    """work(number) in each of so many processes at once."""
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            try:
                work(number)
                os._exit(0)
            except (OSError, Wrong) as error:
                print(error, file=sys.stderr)
            finally:
                os._exit(1)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        raise Wrong("one of the processes failed")


def stat_all(wish):
    def work(number):
        for file in range(number, wish.files, wish.processes):
            os.stat(f"{wish.path}/f{file:05}")
    by_processes(wish.processes, work)
    return 0, wish.files


def create(wish):
    content = os.urandom(wish.size)

    def work(number):
        for file in range(number, wish.files, wish.writers):
            with open(f"{wish.path}/n{file:05}", "xb", buffering=0) as created:
                write_all(created, content)
    by_processes(wish.writers, work)
    return wish.files * wish.size, wish.files


def write_all(file, content):
    if file.write(content) != len(content):
        raise Wrong("a write took a part of its bytes")


def write_blocks(file, size):
    block = os.urandom(BLOCK)
    for at in range(0, size, BLOCK):
        write_all(file, block[:size - at])


def write(wish):
    with open(wish.path, "wb", buffering=0) as file:
        write_blocks(file, wish.size)
        if wish.before_close:
            wish.end = time.monotonic()
    return wish.size, 1


def rewrite(wish):
    places, content, parts = random.Random(1), os.urandom(PAGE), set()
    with open(wish.path, "r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        for _ in range(wish.writes):
            at = places.randrange(size // PAGE) * PAGE
            os.pwrite(file.fileno(), content, at)
            parts.add(at // wish.part)
    return len(parts) * wish.part, wish.writes


def copy(wish):
    subprocess.run(["cp", "-r", wish.path, f"{wish.to}/copy"], check=True, stdin=subprocess.DEVNULL)
    sizes = [entry.stat().st_size for entry in os.scandir(wish.path)]
    return sum(sizes), len(sizes)


def rename(wish):
    with open(f"{wish.path}/aside", "wb", buffering=0) as file:
        write_blocks(file, wish.size)
    os.rename(f"{wish.path}/aside", f"{wish.path}/in-place")
    return wish.size, 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(required=True)

    def mode(name, work, *numbers, flags=()):
        added = modes.add_parser(name)
        added.set_defaults(work=work, end=None)
        for number in numbers:
            added.add_argument(f"--{number}", type=int, required=True)
        for flag in flags:
            added.add_argument(f"--{flag}", action="store_true")
        added.add_argument("path")
        return added
    mode("ls", list_long, "expect")
    mode("find", walk, "expect", flags=("sizes",))
    mode("stat", stat_all, "files", "processes")
    mode("create", create, "files", "size", "writers")
    mode("write", write, "size", flags=("before-close",))
    mode("rewrite", rewrite, "writes", "part")
    mode("copy", copy).add_argument("to")
    mode("rename", rename, "size")
    return parser.parse_args()


def main():
    wish = arguments()
    began = time.monotonic()
    done_bytes, done = wish.work(wish)
    seconds = (wish.end or time.monotonic()) - began
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"bytes": done_bytes, "ops": done, "seconds": seconds, "p50_us": 0, "p99_us": 0,
                      "cpu_seconds": sum(one.ru_utime + one.ru_stime for one in used)}))


if __name__ == "__main__":
    try:
        main()
    except (OSError, Wrong, subprocess.CalledProcessError) as failure:
        sys.exit(f"tree_load.py: {failure}")
