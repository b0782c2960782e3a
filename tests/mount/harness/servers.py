# SPDX-License-Identifier: Apache-2.0
"""The servers that s3rdma-target behaves as, and what a mount file says for each."""

# {name of --behave-as: keys of [rdma]}
BEHAVIOURS = {
    "spec": {},
    "aistor": {},
    "noobaa": {},
    "versitygw": {},
    "ecs": {"token_header": "x-rdma-info", "byte_count": "optional"},
    "cloudian": {},
    "scality": {"token_header": "x-scal-rdma"},
    "rocm-ernic": {"bytes_header": "x-amz-rdma-bytes"},
    "ceph-osd-direct": {},
    "weak-etags": {},
    "no-delimiter": {},
    "repeated-tokens": {},
    "no-if-match": {},
    "put-conditions-only": {},
    "no-conditions": {},
    "refused-conditions": {},
    "no-part-copy": {},
    "rename-object": {},
    "plain": {},
}


def rdma_of(behaviour, section):
    """The [rdma] of a mount whose test asks for `section`. Few of the servers move every transfer by RDMA: what a test
    requires of the default server is preferred here."""
    mode = {"require": "prefer"}.get(section.get("mode"), section.get("mode", "prefer"))
    return {**section, "mode": mode, **BEHAVIOURS[behaviour]}
