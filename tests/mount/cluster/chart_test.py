# SPDX-License-Identifier: Apache-2.0
"""The Helm chart and the examples of packaging/kubernetes: valid, and as the driver wants them. Nothing is mounted."""

import copy
import json

import pytest
from harness.csi import DRIVER
from harness.settings import ROOT
from helm import render

yaml = pytest.importorskip("yaml", reason="python3-yaml is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")

KUBERNETES = ROOT / "packaging/kubernetes"
CHART = KUBERNETES / "helm"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def rendered(**changes):
    """{kind: object} of the chart with these values on top of its own."""
    values = {**copy.deepcopy(VALUES), **changes}
    jsonschema.validate(values, SCHEMA)
    objects = [yaml.safe_load(render(file.read_text(), values)) for file in sorted((CHART / "templates").iterdir())]
    return {each["kind"]: each for each in objects}


def driver_of(daemonset):
    return next(each for each in daemonset["spec"]["template"]["spec"]["containers"] if each["name"] == "driver")


@pytest.mark.parametrize("daemons", ("systemd", "pod"))
def test_the_chart_gives_the_driver_what_it_needs(daemons):
    daemonset = rendered(daemons=daemons)["DaemonSet"]
    pod, driver = daemonset["spec"]["template"]["spec"], driver_of(daemonset)
    assert driver["securityContext"]["privileged"] and pod["hostNetwork"] is True
    propagation = {each["mountPath"]: each.get("mountPropagation") for each in driver["volumeMounts"]}
    assert propagation["/var/lib/kubelet"] == propagation["/run/s3rdmafs-csi"] == "Bidirectional"
    assert {each["name"] for container in pod["containers"] for each in container["volumeMounts"]} == {each["name"] for each in pod["volumes"]}
    assert pod.get("hostPID", False) == (daemons == "systemd") and ("initContainers" in pod) == (daemons == "systemd")
    assert daemonset["spec"]["updateStrategy"]["type"] == {"systemd": "RollingUpdate", "pod": "OnDelete"}[daemons]
    assert "livenessProbe" not in driver, "a failed one would end what the container owns"
    assert daemonset["spec"]["selector"]["matchLabels"].items() <= daemonset["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("daemons", ("systemd", "pod"))
@pytest.mark.skipif(not DRIVER.exists(), reason="s3rdmafs-csi is not built")
def test_the_chart_calls_the_driver_with_options_that_it_has(daemons):
    import subprocess
    known = subprocess.run([DRIVER, "--help"], check=True, timeout=30, stdout=subprocess.PIPE, text=True).stdout
    options = [word.split("=")[0] for word in driver_of(rendered(daemons=daemons)["DaemonSet"])["command"] if word.startswith("--")]
    assert len(options) >= 6 and all(f"{option} " in known for option in options), known


def test_tokens_are_asked_for_where_the_site_names_audiences():
    assert "tokenRequests" not in rendered()["CSIDriver"]["spec"]
    spec = rendered(tokenAudiences=["sts.example.org", 'a"b'])["CSIDriver"]["spec"]
    assert [each["audience"] for each in spec["tokenRequests"]] == ["sts.example.org", 'a"b']
    assert spec["requiresRepublish"] and spec["podInfoOnMount"], "a token ends after an hour"


@pytest.mark.parametrize("wrong", ({"daemons": "mine"}, {"kubeletFolder": "/a b"}, {"driverName": "X_y"}, {"hostNetwork": "yes"}, {"daemon": "pod"}))
def test_wrong_values_are_refused(wrong):
    with pytest.raises(jsonschema.ValidationError):
        rendered(**wrong)


def test_examples_fit_together():
    objects = [each for file in sorted((KUBERNETES / "example").iterdir()) for each in yaml.safe_load_all(file.read_text())]
    named = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    volumes = [each for each in objects if each["kind"] == "PersistentVolume"]
    claims = [each for each in objects if each["kind"] == "PersistentVolumeClaim"]
    for volume in volumes:
        assert volume["spec"]["csi"]["driver"] == VALUES["driverName"]
        if reference := volume["spec"]["csi"].get("nodeStageSecretRef"):
            assert ("Secret", reference["name"]) in named
    assert {claim["spec"]["volumeName"] for claim in claims} == {volume["metadata"]["name"] for volume in volumes}
    for claim in claims:
        volume = named["PersistentVolume", claim["spec"]["volumeName"]]
        assert claim["spec"]["storageClassName"] == volume["spec"]["storageClassName"]
        assert claim["spec"]["accessModes"] == volume["spec"]["accessModes"]
    used = {each["persistentVolumeClaim"]["claimName"] for each in named["Pod", "trainer"]["spec"]["volumes"]}
    assert used == {claim["metadata"]["name"] for claim in claims}
