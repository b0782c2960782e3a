# SPDX-License-Identifier: Apache-2.0
"""S3 clients of other authors, as Debian has them, with one set of verbs.

Each gets a home folder of its own and no configuration but the one written here. Keys are whole keys of
one bucket; files are local paths.
"""

import os
import re
import shutil
import subprocess

from .processes import eventually, mounts_below, stop, unmount_lazily

SECONDS = 300  # for a client that hangs; a tree of 3 GiB takes a minute on a busy machine


class Client:
    """The verbs of a client. `program` is the command that runs it; `words` has, for each verb that takes
    nothing but files and addresses of objects, the words that this client has for it."""

    program = ""
    words = {}

    def __init__(self, server, bucket, home):
        self.server, self.bucket, self.home = server, bucket, home
        home.mkdir()
        self.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8",
                            **{k: v for k, v in os.environ.items() if k.startswith("LEAK_MARK")}}
        self.configure()

    def configure(self):
        pass

    def close(self):
        pass

    def run(self, *arguments):
        result = subprocess.run([self.program, *map(str, arguments)], check=False, timeout=SECONDS,
                                env=self.environment, cwd=self.home, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert result.returncode == 0, (
            f"{self.program} {arguments}: status {result.returncode}\n"
            f"{result.stdout.decode(errors='replace')[-2000:]}\n{result.stderr.decode(errors='replace')[-2000:]}")
        return result.stdout

    def _verb(self, name, *operands):
        return self.run(*self.words[name], *operands)

    def put(self, file, key):
        self._verb("put", file, self._url(key))

    def get(self, key, file):
        self._verb("get", self._url(key), file)

    def copy(self, source, destination):
        self._verb("copy", self._url(source), self._url(destination))

    def delete(self, key):
        self._verb("delete", self._url(key))


class Awscli(Client):
    program = "/usr/bin/aws"
    words = {"delete": ("s3", "rm", "--only-show-errors"),
             **dict.fromkeys(("put", "get", "copy"), ("s3", "cp", "--only-show-errors"))}

    def configure(self):
        self.environment |= {
            "AWS_ACCESS_KEY_ID": self.server.access_key, "AWS_SECRET_ACCESS_KEY": self.server.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_PAGER": "", "AWS_EC2_METADATA_DISABLED": "true"}

    def run(self, *arguments):
        return super().run("--endpoint-url", self.server.endpoint, *arguments)

    def _url(self, key):
        return f"s3://{self.bucket}/{key}"

    def make_bucket(self):
        self.run("s3", "mb", f"s3://{self.bucket}")

    def put_exactly(self, key, file=None):
        """One PutObject with this very key, whatever it looks like; without a file, an empty one."""
        body = ["--body", file] if file else []
        self.run("s3api", "put-object", "--bucket", self.bucket, "--key", key, *body)

    def get_range(self, key, first, last):
        file = self.home / "range"
        self.run("s3api", "get-object", "--bucket", self.bucket, "--key", key,
                 "--range", f"bytes={first}-{last}", file)
        return file.read_bytes()

    def list(self):
        out = self.run("s3api", "list-objects-v2", "--bucket", self.bucket, "--page-size", "3",
                       "--query", "Contents[].[Key]", "--output", "text").decode()
        return {key for key in out.splitlines() if key != "None"}

    def etag(self, key):
        return self.run("s3api", "head-object", "--bucket", self.bucket, "--key", key,
                        "--query", "ETag", "--output", "text").decode().strip().strip('"')


class S3cmd(Client):
    program = "/usr/bin/s3cmd"
    words = {"put": ("put",), "get": ("get", "--force"), "copy": ("cp",), "delete": ("del",)}

    def configure(self):
        host = self.server.endpoint.removeprefix("http://")
        (self.home / ".s3cfg").write_text(
            f"[default]\naccess_key = {self.server.access_key}\nsecret_key = {self.server.secret_key}\n"
            f"host_base = {host}\nhost_bucket = {host}\nuse_https = False\nbucket_location = us-east-1\n")

    def run(self, *arguments):
        return super().run("--config", self.home / ".s3cfg", "--no-progress", *arguments)

    def _url(self, key=""):
        return f"s3://{self.bucket}/{key}"

    def make_bucket(self):
        self.run("mb", self._url())

    def get_range(self, key, first, last):
        # Its only ranged read is to resume one: it asks for what a file of `first` bytes lacks.
        file = self.home / "resumed"
        file.write_bytes(b"\0" * first)
        self.run("get", "--continue", self._url(key), file)
        return file.read_bytes()[first:last + 1]

    def list(self):
        out = self.run("ls", "--recursive", self._url()).decode()
        return set(re.findall(rf"^.*? s3://{self.bucket}/(.*)$", out, re.MULTILINE))


class Rclone(Client):
    program = "/usr/bin/rclone"
    words = {"delete": ("deletefile",), **dict.fromkeys(("put", "get", "copy"), ("copyto",))}

    def configure(self):
        self.environment |= {
            "RCLONE_CONFIG": str(self.home / "none.conf"),
            "RCLONE_CONFIG_R_TYPE": "s3", "RCLONE_CONFIG_R_PROVIDER": "Other",
            "RCLONE_CONFIG_R_ENDPOINT": self.server.endpoint, "RCLONE_CONFIG_R_REGION": "us-east-1",
            "RCLONE_CONFIG_R_ACCESS_KEY_ID": self.server.access_key,
            "RCLONE_CONFIG_R_SECRET_ACCESS_KEY": self.server.secret_key,
            "RCLONE_S3_UPLOAD_CUTOFF": "64M", "RCLONE_S3_CHUNK_SIZE": "16M"}

    def _url(self, key=""):
        return f"r:{self.bucket}/{key}"

    def make_bucket(self):
        self.run("mkdir", f"r:{self.bucket}")

    def put_tree(self, folder):
        """Every file below a folder."""
        self.run("copy", "--transfers", "8", folder, self._url())

    def get_range(self, key, first, last):
        return self.run("cat", "--offset", first, "--count", last - first + 1, self._url(key))

    def list(self):
        return set(self.run("lsf", "--recursive", "--files-only", self._url()).decode().splitlines())


class S3fs(Client):
    """Another FUSE mount, writing as well as reading: its verbs are those of files."""

    program = "/usr/bin/s3fs"
    process = None

    def configure(self):
        self.point = self.home / "mnt"
        self.point.mkdir()
        password = self.home / "passwd"
        password.write_text(f"{self.server.access_key}:{self.server.secret_key}\n")
        password.chmod(0o600)
        self.password = password

    def make_bucket(self):
        """s3fs makes no buckets, so the one it mounts is made by a client that does."""
        maker = Awscli(self.server, self.bucket, self.home / "maker")
        maker.make_bucket()
        with open(self.home / "log", "wb") as log:
            self.process = subprocess.Popen(
                [self.program, self.bucket, self.point, "-f", "-o",
                 f"url={self.server.endpoint},use_path_request_style,passwd_file={self.password}"
                 ",endpoint=us-east-1,multipart_size=16,enable_noobj_cache,use_xattr"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(self._is_mounted, 20, "s3fs mounts")

    def _is_mounted(self):
        assert self.process.poll() is None, (self.home / "log").read_text()
        return mounts_below(self.point)

    def close(self):
        if self.process is None:
            return
        try:
            subprocess.run(["umount", self.point], check=True, timeout=SECONDS)
        finally:
            for point in mounts_below(self.point):
                unmount_lazily(point)
            stop(self.process)

    def put(self, file, key):
        (self.point / key).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, self.point / key)

    def get(self, key, file):
        shutil.copyfile(self.point / key, file)

    def get_range(self, key, first, last):
        with open(self.point / key, "rb", buffering=0) as file:
            return os.pread(file.fileno(), last - first + 1, first)

    def list(self):
        return {os.path.relpath(os.path.join(folder, name), self.point)
                for folder, _, names in os.walk(self.point) for name in names}

    def copy(self, source, destination):
        shutil.copyfile(self.point / source, self.point / destination)

    def delete(self, key):
        (self.point / key).unlink()
