# SPDX-License-Identifier: Apache-2.0
"""Programs that expect a file system, unmodified, in a staged mount: version control, archives, copies, editors, databases
and the libraries of training jobs. Each runs on a plain directory too: there it must pass, or the test itself is wrong. Modes,
owners, times and links are not kept, so no test looks at them."""

import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest
from harness import content
from harness.processes import eventually

pytestmark = pytest.mark.needs_fuse

BUCKET = "programs"
MIB = 1 << 20
PROGRAM_SECONDS = 300  # a program on a loaded machine of two cores; one that takes it has hung
TREE_FILES = int(os.environ.get("S3RDMAFS_TREE_FILES", "300"))  # removed by find and rm; before a release 20000
FIO_ENGINES = ("sync", "psync", "libaio", "mmap", "io_uring")


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    (target.root / BUCKET).mkdir()
    return target


@pytest.fixture(scope="module", params=["plain", "rdma", "http"])
def place(request, shared_site, server, tmp_path_factory):
    """A folder to work in, and the folder of the server that has the same files; none for the plain one."""
    if request.param == "plain":
        return tmp_path_factory.mktemp("plain"), None
    mode = {"rdma": "require", "http": "off"}[request.param]
    mounted = shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                                write={"mode": "staged", "buffer_size": "64MiB",
                                       "staging_dir": str(shared_site.folder / f"staging-{request.param}")})
    return mounted.point, server.root / BUCKET


@pytest.fixture
def folder(place, request, tmp_path):
    at, stored = place
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    (at / name).mkdir()
    yield at / name
    if stored:
        assert files_below(at / name) == files_below(stored / name), "the server has what the mount shows"


def files_below(top):
    """The content of every plain file below a folder."""
    return {path.relative_to(top).as_posix(): path.read_bytes()
            for path in top.rglob("*") if path.is_file() and not path.is_symlink()}


def run(*command, cwd, input=""):
    result = subprocess.run([str(word) for word in command], cwd=cwd, check=False, timeout=PROGRAM_SECONDS,
                            input=input, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, f"{command}: {result.stdout}"
    return result.stdout


def shell(script, folder):
    return run("sh", "-ec", script, cwd=folder)


def python(script, folder):
    return run("/usr/bin/python3", "-c", script, cwd=folder)


def make_tree(top, files=40):
    for number in range(files):
        path = top / f"d{number % 5}" / f"sub{number % 3}" / f"file {number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.expected(number, 0, 1 + number % 40 * 997))
    (top / "d0" / "script").write_text("echo ran\n")
    (top / "empty").mkdir()
    return top


@pytest.mark.needs("git")
def test_git_clones_commits_collects_and_checks(folder, tmp_path):
    origin = make_tree(tmp_path / "origin")
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@localhost")
    for step in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
        run(*git, *step, cwd=origin)
    run("git", "clone", "-q", f"file://{origin}", "clone", cwd=folder)
    clone = folder / "clone"
    (clone / "d1" / "new").write_text("changed\n")
    for step in (("add", "-A"), ("commit", "-qm", "two"), ("gc", "-q"), ("fsck", "--strict"),
                 ("checkout", "-q", "HEAD~1"), ("checkout", "-q", "-")):
        run(*git, *step, cwd=clone)
    assert run("git", "status", "--porcelain", cwd=clone) == ""
    assert (clone / "d1" / "new").read_text() == "changed\n"


def test_tar_extracts_and_archives(folder, tmp_path):
    source = make_tree(tmp_path / "tree")
    run("tar", "cf", tmp_path / "tree.tar", "-C", source, ".", cwd=tmp_path)
    run("tar", "xf", tmp_path / "tree.tar", cwd=folder)
    assert files_below(folder) == files_below(source)
    assert run("sh", "d0/script", cwd=folder) == "ran\n"
    run("tar", "cf", "d.tar", "d0", "d1", cwd=folder)
    assert run("tar", "xOf", "d.tar", "d0/script", cwd=folder) == "echo ran\n"


@pytest.mark.needs("rsync")
def test_rsync_copies_once_and_then_nothing(folder, tmp_path):
    source = make_tree(tmp_path / "tree")
    run("rsync", "-r", "--size-only", f"{source}/", folder / "copy", cwd=folder)
    assert files_below(folder / "copy") == files_below(source)
    again = run("rsync", "-ri", "--size-only", f"{source}/", folder / "copy", cwd=folder)
    assert not [line for line in again.splitlines() if line.startswith(">f")], again
    (source / "d1" / "sub0" / "changed").write_text("later")
    run("rsync", "-a", "--size-only", f"{source}/", folder / "copy", cwd=folder)
    assert (folder / "copy" / "d1" / "sub0" / "changed").read_text() == "later"
    (source / "d1" / "sub0" / "changed").write_text("again")
    run("rsync", "-a", "--checksum", f"{source}/", folder / "copy", cwd=folder)
    assert files_below(folder / "copy") == files_below(source)


def test_cp_a_keeps_content(folder, tmp_path):
    source = make_tree(tmp_path / "tree")
    run("cp", "-a", source, folder / "copy", cwd=folder)
    assert files_below(folder / "copy") == files_below(source)


def test_mv_moves_files_and_trees(folder):
    make_tree(folder / "tree")
    before = files_below(folder / "tree")
    shell("mv tree moved && mv moved/d0/script plain && mv plain moved/d0/script", folder)
    assert not (folder / "tree").exists()
    assert files_below(folder / "moved") == before


def test_sed_i_and_an_editors_save_replace_a_file(folder):
    (folder / "text").write_text("one\ntwo\n")
    shell("sed -i s/two/three/ text", folder)
    assert (folder / "text").read_text() == "one\nthree\n"
    # As vim and emacs save: a backup by rename, a new file, the backup removed.
    shell("mv text text~ && printf 'saved\\n' > text && rm text~", folder)
    assert (folder / "text").read_text() == "saved\n"
    assert os.listdir(folder) == ["text"]


@pytest.mark.needs("ed")
def test_an_editor_writes_a_file_over(folder):
    (folder / "text").write_text("one\ntwo\nthree\n")
    run("ed", "-s", "text", cwd=folder, input="2s/two/2/\n$a\nfour\n.\nw\nq\n")
    assert (folder / "text").read_text() == "one\n2\nthree\nfour\n"
    assert os.listdir(folder) == ["text"]


@pytest.mark.needs("vim")
def test_vim_saves_through_a_backup_and_a_swap_file(folder):
    (folder / "text").write_text("one\ntwo\n")
    for copies in ("no", "yes"):  # the old file is renamed away, or copied away and written over
        run("vim", "-u", "NONE", "-es", "-c", f"set writebackup backupcopy={copies} swapfile", "-c", "%s/^/x/",
            "-c", "wq", "text", cwd=folder)
    assert (folder / "text").read_text() == "xxone\nxxtwo\n"
    assert os.listdir(folder) == ["text"]


def test_a_shell_loop_appends(folder):
    shell("for i in $(seq 200); do echo line $i >> log; done; tee -a log < /dev/null", folder)
    assert (folder / "log").read_text() == "".join(f"line {i}\n" for i in range(1, 201))


def test_dd_writes_in_the_middle_and_truncate_cuts_and_extends(folder):
    whole = content.expected(3, 0, 20 * MIB)
    (folder / "file").write_bytes(whole)
    shell("printf middle | dd of=file conv=notrunc bs=1 seek=10485000 status=none; truncate -s 15M file; truncate -s +1M file",
          folder)
    changed = whole[:10485000] + b"middle" + whole[10485006:15 * MIB] + bytes(MIB)
    assert (folder / "file").read_bytes() == changed


@pytest.mark.needs("sqlite3")
def test_sqlite_writes_and_reads_back(folder):
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) INSERT INTO t SELECT i, i*i FROM n;"
    run("sqlite3", "db", f"CREATE TABLE t(a INTEGER PRIMARY KEY, b); BEGIN; {rows} COMMIT;", cwd=folder)
    run("sqlite3", "db", "UPDATE t SET b=0 WHERE a%7=0; DELETE FROM t WHERE a>4000; VACUUM;", cwd=folder)
    assert run("sqlite3", "db", "PRAGMA integrity_check; SELECT count(*), sum(b) FROM t;", cwd=folder) == \
        f"ok\n4000|{sum(i * i for i in range(1, 4001) if i % 7)}\n"


def test_numpy_maps_a_file_to_read_and_write(folder):
    python("""
import numpy
array = numpy.lib.format.open_memmap("a.npy", mode="w+", dtype="f4", shape=(1000, 1000))
array[:] = 1; array.flush(); del array
array = numpy.load("a.npy", mmap_mode="r+")
array[500] = 7; array.flush(); del array
array = numpy.load("a.npy")
assert array.sum() == 999 * 1000 + 7000, array.sum()
numpy.savez("z.npz", array=array)
assert (numpy.load("z.npz")["array"] == array).all()
""", folder)


def test_h5py_creates_and_appends(folder):
    python("""
import h5py, numpy
with h5py.File("h.h5", "w") as file:
    file.create_dataset("x", data=numpy.arange(1000), maxshape=(None,), chunks=True)
with h5py.File("h.h5", "a") as file:
    file["x"].resize((2000,)); file["x"][1000:] = 5; file.create_group("g").attrs["a"] = 1
with h5py.File("h.h5", "r") as file:
    assert file["x"][:].sum() == sum(range(1000)) + 5000 and file["g"].attrs["a"] == 1
""", folder)


if util.find_spec("torch"):  # large: tools/setup.sh --bench installs it
    def test_torch_saves_and_loads(folder):
        python("""
import os, torch
state = {"w": torch.arange(1_000_000), "step": 3}
torch.save(state, "c.pt.tmp"); os.replace("c.pt.tmp", "c.pt")
loaded = torch.load("c.pt")
assert (loaded["w"] == state["w"]).all() and loaded["step"] == 3
""", folder)


def test_an_archive_of_tensors_is_saved_and_loaded(folder):
    """As torch.save writes and torch.load(mmap=True) reads, without PyTorch: entries stored as they are, each at a multiple
    of 64 bytes, sizes filled in by a seek back to the entry's header, the directory last; a map of the whole to read."""
    python("""
import mmap, os, zipfile
tensors = {f"c/data/{i}": bytes([i]) * (i * 300_000 + 7) for i in range(1, 12)}
with zipfile.ZipFile("c.pt.tmp", "w", zipfile.ZIP_STORED) as archive:
    for name, data in tensors.items():
        entry = zipfile.ZipInfo(name)
        entry.extra = b"FB" + (pad := -(archive.fp.tell() + 34 + len(name)) % 64).to_bytes(2, "little") + b"Z" * pad
        with archive.open(entry, "w") as out:
            out.write(data)
os.replace("c.pt.tmp", "c.pt")
with open("c.pt", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
    for entry in zipfile.ZipFile(file).infolist():
        at = entry.header_offset + 30 + len(entry.filename) + len(entry.extra)
        assert at % 64 == 0 and whole[at:at + entry.file_size] == tensors.pop(entry.filename), entry
assert not tensors
""", folder)


@pytest.mark.needs("fio")
def test_fio_verifies_random_writes_of_each_engine(folder):
    jobs = [option for engine in FIO_ENGINES for option in
            (f"--name={engine}", f"--ioengine={engine}", f"--filename={engine}")]
    run("fio", "--size=4m", "--rw=randwrite", "--bs=4k", "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0",
        "--iodepth=8", "--end_fsync=1", "--fallocate=none", "--thread", *jobs, cwd=folder)
    assert sorted(os.listdir(folder)) == sorted(FIO_ENGINES)
    assert {path.stat().st_size for path in folder.iterdir()} == {4 * MIB}


def test_a_checkpoint_is_written_and_renamed_into_place(folder):
    python("""
import os
for step in range(20):
    with open("ckpt.tmp", "wb") as file:
        file.write(bytes([step]) * 3_000_000); file.flush(); os.fsync(file.fileno())
    os.replace("ckpt.tmp", "ckpt")
    with open("ckpt", "rb") as file:
        assert file.read() == bytes([step]) * 3_000_000
assert os.listdir(".") == ["ckpt"]
""", folder)


def test_zip_files_temporary_files_and_a_python_module(folder):
    python("""
import importlib, os, sys, tempfile, zipfile
with zipfile.ZipFile("a.zip", "w") as archive:
    for i in range(20): archive.writestr(f"m{i}", b"x" * i * 1000)
assert zipfile.ZipFile("a.zip").testzip() is None
with tempfile.NamedTemporaryFile(dir=".") as file:
    file.write(b"abc"); file.flush(); file.seek(1); assert file.read() == b"bc"
with tempfile.TemporaryFile(dir=".") as file:
    file.write(b"abc"); file.seek(0); assert file.read() == b"abc"
sys.path.insert(0, os.getcwd())
for name in ("first", "second"):
    open(name + ".py", "w").write(f"value = {name!r}")
    assert importlib.import_module(name).value == name
""", folder)


def test_a_compiler_and_an_archiver_write_programs_that_run(folder, tmp_path):
    (folder / "main.c").write_text("int twice(int); int main(void) { return twice(21) != 42; }\n")
    (folder / "twice.c").write_text("int twice(int n) { return 2 * n; }\n")
    shell("gcc -c twice.c && ar rcs libtwice.a twice.o && gcc -o main main.c libtwice.a", folder)
    shell(f"cp {folder}/main . && chmod +x main && ./main", tmp_path)


def test_a_program_writes_to_a_file_that_another_reads(folder):
    log = folder / "log"
    with open(log, "wb") as out:
        writer = subprocess.Popen([sys.executable, "-c", "import sys\nfor i in range(5): print(i, flush=True)\n"
                                   "sys.stdin.read()"], stdin=subprocess.PIPE, stdout=out)
        try:
            eventually(lambda: log.read_bytes() == b"0\n1\n2\n3\n4\n", 60, "bytes show while the writer has the file open")
        finally:
            writer.stdin.close()
            assert writer.wait(60) == 0


def test_find_delete_du_and_rm_rf(folder):
    make_tree(folder / "tree", files=TREE_FILES)
    size = sum(path.stat().st_size for path in (folder / "tree").rglob("*") if path.is_file() and not path.is_symlink())
    shown = int(run("du", "-sb", "--apparent-size", "tree", cwd=folder).split()[0])
    assert shown >= size
    shell("find tree -name 'file *' -delete; rm -rf tree", folder)
    assert os.listdir(folder) == []


def test_locks(folder):
    shell("echo x > a; flock a true", folder)
    python("""
import fcntl, os
a, b = open("a", "r+"), open("a", "r+")
fcntl.lockf(a, fcntl.LOCK_EX); fcntl.flock(a, fcntl.LOCK_UN)
os.lockf(a.fileno(), os.F_ULOCK, 0)
""", folder)


def test_files_of_many_kinds_keep_their_place_in_a_listing(folder):
    names = [f"n{i}" for i in range(500)]
    for name in names:
        (folder / name).write_bytes(b"")
    assert sorted(os.listdir(folder)) == sorted(names)
    os.rename(folder / "n7", folder / "renamed")
    os.unlink(folder / "n8")
    assert sorted(os.listdir(folder)) == sorted({*names, "renamed"} - {"n7", "n8"})
    assert Path(folder / "renamed").read_bytes() == b""
