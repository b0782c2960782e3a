# SPDX-License-Identifier: Apache-2.0
"""A changed file costs the requests that close-to-open and conditions need, and no more. Counts, not times."""

import os

import pytest
from harness.mount import total
from harness.writing import folder_for

pytestmark = pytest.mark.needs_fuse

BUCKET = "counted"
FILES = 50
SLACK = 0.2  # of a request for each file: a machine so busy that a lookup was long before its creation, a page ahead


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


@pytest.fixture(scope="module", params=["sequential", "staged"])
def mounted(request, shared_site, server):
    staging = {"staging_dir": str(shared_site.folder / "counted-staging")} if request.param == "staged" else {}
    return shared_site.mount(server, BUCKET, write={"mode": request.param, "buffer_size": "64MiB", **staging})


@pytest.fixture
def folder(mounted, request, server):
    return folder_for(request, mounted, server.root / BUCKET)[0]


def cost_at(mounted):
    """{operation: requests} for each of FILES calls of a function with the file's number."""
    def counted():
        stats = mounted.stats()
        return {name: total(stats, "s3_requests_total", f'operation="{name}"')
                for name in ("head", "list", "put", "copy", "delete", "rename")}

    def measure(work):
        before = counted()
        for number in range(FILES):
            work(number)
        return {name: (after - before[name]) / FILES for name, after in counted().items() if after != before[name]}
    return measure


@pytest.fixture
def cost(mounted):
    return cost_at(mounted)


def at_most(cost, **asked):
    return set(cost) <= set(asked) and all(cost.get(name, 0) <= count + SLACK for name, count in asked.items())


def created_by(flags):
    def create(path):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | flags)
        os.write(opened, b"x" * 4096)
        os.close(opened)
    return create


CREATIONS = {"O_EXCL": created_by(os.O_EXCL), "O_TRUNC": created_by(os.O_TRUNC), "O_CREAT": created_by(0)}


@pytest.mark.parametrize("how", CREATIONS)
def test_a_new_file_costs_one_lookup_and_one_put(folder, cost, how):
    spent = cost(lambda number: CREATIONS[how](folder / f"f{number}"))
    assert at_most(spent, head=1, list=1, put=1), spent
    assert spent["put"] >= 1, "the control: each was stored"
    assert len(os.listdir(folder)) == FILES


def test_a_new_directory_costs_one_lookup_and_one_put(folder, cost):
    spent = cost(lambda number: (folder / f"d{number}").mkdir())
    assert at_most(spent, head=1, list=1, put=1), spent
    assert spent["put"] >= 1, "the control: each was stored"


@pytest.mark.parametrize("theirs", ["file", "file/below"])
def test_names_that_another_client_makes_are_found_among_new_files(folder, server, theirs):
    for number in range(4):
        created_by(os.O_EXCL)(folder / f"f{number}")
    there = server.root / BUCKET / folder.name / theirs
    there.parent.mkdir(exist_ok=True)
    there.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        created_by(os.O_EXCL)(folder / "file")
    assert (folder / theirs).read_bytes() == b"theirs"


def test_a_rename_costs_a_lookup_of_each_name_a_copy_and_a_removal(folder, cost):
    for number in range(FILES):
        (folder / f"f{number}").write_bytes(b"x")
    spent = cost(lambda number: os.rename(folder / f"f{number}", folder / f"r{number}"))
    assert at_most(spent, head=2, list=2, copy=1, delete=1, rename=0), spent  # the first asks whether the server renames
    assert {name.name for name in folder.iterdir()} == {f"r{number}" for number in range(FILES)}


@pytest.fixture(scope="module")
def renaming(shared_site):
    """A mount of a server that renames objects by itself."""
    server = shared_site.target("--behave-as", "rename-object", bucket=BUCKET)
    staging = {"staging_dir": str(shared_site.folder / "renaming-staging")}
    return shared_site.mount(server, BUCKET, write={"mode": "staged", "buffer_size": "64MiB", **staging})


def test_a_rename_costs_one_request_where_the_server_renames(renaming):
    folder = renaming / "flat"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"f{number}").write_bytes(b"x")
    spent = cost_at(renaming)(lambda number: os.rename(folder / f"f{number}", folder / f"r{number}"))
    assert at_most(spent, head=2, list=2, rename=1), spent
    assert spent["rename"] == 1, "the control: none was copied"
    assert {name.name for name in folder.iterdir()} == {f"r{number}" for number in range(FILES)}


def test_a_directory_costs_one_request_for_each_file_where_the_server_renames(renaming):
    (renaming / "tree").mkdir()
    for number in range(FILES):
        (renaming / "tree" / f"f{number}").write_bytes(b"x")
    before = renaming.stats()
    os.rename(renaming / "tree", renaming / "moved")
    after = renaming.stats()
    spent = {name: total(after, "s3_requests_total", f'operation="{name}"') -
             total(before, "s3_requests_total", f'operation="{name}"') for name in ("rename", "copy", "delete")}
    assert spent == {"rename": FILES, "copy": 1, "delete": 1}, "the directory's own key has no rename"
    assert len(os.listdir(renaming / "moved")) == FILES


def test_a_removal_costs_a_lookup_and_a_request(folder, cost):
    for number in range(FILES):
        (folder / f"f{number}").write_bytes(b"x")
    spent = cost(lambda number: (folder / f"f{number}").unlink())
    assert at_most(spent, head=1, list=1, delete=1), spent
    assert not os.listdir(folder)
