"""The Helm chart: linted and rendered by helm, each object against Kubernetes' own schemas, and what pods are given."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

import shim
from shim.app.host_limits import read_secret
from shim.config.loader import parse

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "docker" / "helm" / "heddle"
PORTS = {"web": 8088, "client-rpc": 8032, "scheduler-rpc": 8030, "admin-rpc": 8033, "masters": 8700}
OLDEST = "1.27"
NEWEST = ".".join(kubernetes_validate.latest_version().split(".")[:2])

CONFIGURATION = """\
[poll]
interval_s = 1.0

[[queue]]
name = "root.prod"
weight = 2
span = true

[[subcluster]]
id = "east"
web = "http://rm.east.example.org:8088"
client_rpc = "rm.east.example.org:8032"
scheduler_rpc = "rm.east.example.org:8030"

[[subcluster]]
id = "west-2"
web = "http://rm.west.example.org:8088"
"""
VALUES = {"secretName": "heddle-secrets", "configuration": CONFIGURATION}
FULL = VALUES | {
    "image": {"repository": "registry.example.org/heddle", "tag": "1.2.3", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "env": [{"name": "HEDDLE_LOG_LEVEL", "value": "debug"}],
    "hostNames": ["yarn.example.org"],
    "tls": True,
    "drainSeconds": 25,
    "globalMaster": {"replicas": 3},
    "service": {"type": "LoadBalancer", "annotations": {"example.org/internal": "true"}},
    "networkPolicy": {
        "clients": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
    },
    "podAnnotations": {"example.org/scrape": "true"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
}

CERTIFIED = FULL | {"mastersTLS": True}


@pytest.fixture(scope="module")
def helm():
    """The program, which is built from its source where Go is; a machine without Go needs no charts."""
    found = shutil.which("helm") or shutil.which("helm", path=str(ROOT / ".heddle" / "tools"))
    if found is None:
        has_tried = (ROOT / ".heddle" / "tools").is_dir()  # where it cannot be had, set-up says so and goes on
        if os.environ.get("CI") and shutil.which("go") and not has_tried:
            raise pytest.UsageError("CI has Go and no helm: make setup")
        pytest.skip("no helm, and make setup builds one only where Go is")
    return found


@pytest.fixture
def render(helm, tmp_path):
    """Renders the chart with values; complains as helm does."""

    def rendered(values, version=OLDEST):
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        place = ("demo", str(CHART), "--namespace", "yarn", "--kube-version", f"{version}.0", "--values", str(file))
        done = subprocess.run([helm, "template", *place], capture_output=True, text=True, check=False, timeout=120)
        if done.returncode:
            raise ValueError(done.stderr)
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return rendered


def of_kind(documents, kind):
    return {each["metadata"]["name"]: each for each in documents if each["kind"] == kind}


def workloads(documents):
    return of_kind(documents, "Deployment") | of_kind(documents, "StatefulSet")


def pods(documents):
    return {name: each["spec"]["template"] for name, each in workloads(documents).items()}


def environment_of(pod):
    """Variables of a pod's container, with what Kubernetes would fill in."""
    filled = {"POD_NAME": "demo-heddle-gm-0", "POD_IP": "10.1.2.3"}
    told = dict(filled)
    for each in pod["spec"]["containers"][0]["env"]:
        value = each.get("value", filled.get(each["name"], "postgresql+asyncpg://heddle:secret@db/heddle"))
        for name, filling in filled.items():
            value = value.replace(f"$({name})", filling)
        told[each["name"]] = value
    return told


def selects(selector, labels):
    return selector["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("values", [VALUES, FULL, CERTIFIED], ids=["least", "all", "TLS between masters"])
def test_helm_finds_nothing_to_complain_of(helm, values, tmp_path):
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    command = [helm, "lint", "--strict", "--kube-version", f"{OLDEST}.0", str(CHART), "--values", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("version", [OLDEST, "1.32", NEWEST])
@pytest.mark.parametrize("values", [VALUES, FULL, CERTIFIED], ids=["least", "all", "TLS between masters"])
def test_every_object_is_one_that_kubernetes_knows(render, values, version):
    for document in render(values, version):
        kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"secretName": ""}, "secretName"),
        ({"configuration": ""}, "configuration"),
        ({"configuration": "[[subcluster]]\nid = east"}, "configuration: toml"),
        ({"configuration": '[[subcluster]]\nweb = "http://a:1"'}, "a [[subcluster]] has no id"),
        ({"replica": 3}, "replica"),
        ({"globalMaster": {"replicas": 0}}, "replicas"),
        ({"image": {"repository": "heddle", "tga": "1"}}, "tga"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_values_are_refused_by_name(render, wrong, told):
    with pytest.raises(ValueError, match=told.replace("[", r"\[").replace("]", r"\]")):
        render(VALUES | wrong)


def test_every_value_is_in_the_schema_and_its_default_is_allowed(render):
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    assert defaults.keys() == schema["properties"].keys() - {"global"}
    render(defaults | VALUES)


def test_pods_run_without_root_without_capabilities_and_cannot_write_their_image(render):
    for name, pod in (*pods(render(FULL)).items(), *pods(render(CERTIFIED)).items()):
        spec = pod["spec"]
        security = spec["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"]) == (True, 10001), name
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        for container in (*spec["initContainers"], *spec["containers"]):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]
            assert container["image"] == "registry.example.org/heddle:1.2.3"


def test_the_image_and_the_chart_agree(render):
    dockerfile = (ROOT / "docker" / "heddle" / "Dockerfile").read_text()
    assert "USER 10001:10001" in dockerfile
    assert "WORKDIR /var/lib/heddle" in dockerfile
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == shim.__version__
    for pod in pods(render(VALUES)).values():
        assert pod["spec"]["containers"][0]["image"] == f"heddle:{shim.__version__}"


def test_there_is_a_pair_of_local_masters_for_each_subcluster(render):
    documents = render(VALUES)
    started = {
        tuple(pod["spec"]["containers"][0]["args"]): of_kind(documents, "Deployment")[name]["spec"]["replicas"]
        for name, pod in pods(documents).items()
    }
    config = ("-c", "/etc/heddle/heddle.toml")
    assert started == {
        ("gm", *config): 2,
        ("lm", *config, "--subcluster", "east"): 2,
        ("lm", *config, "--subcluster", "west-2"): 2,
    }


@pytest.mark.parametrize("values", [VALUES, FULL], ids=["least", "all"])
def test_heddle_takes_the_configuration_with_the_variables_of_each_pod(render, values):
    documents = render(values)
    text = of_kind(documents, "ConfigMap")["demo-heddle"]["data"]["heddle.toml"]
    assert text.strip() == CONFIGURATION.strip()
    for name, pod in pods(documents).items():
        config = parse(text, source=name, environment=environment_of(pod))
        assert config.store.url == "postgresql+asyncpg://heddle:secret@db/heddle"
        assert config.masters.listen == f"10.1.2.3:{PORTS['masters']}"
        assert str(config.masters.secret_file) == "/run/heddle/secrets/masters.secret"
        assert str(config.security.secret_file) == "/run/heddle/secrets/security.secret"
        if name.endswith("-gm"):
            server = config.server
            assert (server.rest, server.client_rpc) == (f"0.0.0.0:{PORTS['web']}", f"0.0.0.0:{PORTS['client-rpc']}")
            assert server.scheduler_rpc == f"0.0.0.0:{PORTS['scheduler-rpc']}"
            assert server.admin_rpc == f"0.0.0.0:{PORTS['admin-rpc']}"
            assert {"demo-heddle", "demo-heddle.yarn.svc.cluster.local"} < set(server.host_names)
            assert ("yarn.example.org" in server.host_names) == (values is FULL)
            assert server.drain_s == values.get("drainSeconds", 10)
            assert pod["spec"]["terminationGracePeriodSeconds"] > server.drain_s + server.shutdown_s


def test_probes_ask_where_heddle_answers_them(render):
    for values, scheme in ((VALUES, "HTTP"), (FULL, "HTTPS")):
        container = pods(render(values))["demo-heddle-gm"]["spec"]["containers"][0]
        assert {each["name"]: each["containerPort"] for each in container["ports"]} == PORTS
        asked = {kind: container[f"{kind}Probe"]["httpGet"] for kind in ("startup", "liveness", "readiness")}
        paths = {"startup": "/healthz", "liveness": "/healthz", "readiness": "/ready"}
        assert asked == {kind: {"path": path, "port": "web", "scheme": scheme} for kind, path in paths.items()}


def test_services_and_budgets_select_the_pods_that_they_are_for(render):
    documents = render(VALUES)
    labels = {name: pod["metadata"]["labels"] for name, pod in pods(documents).items()}
    service = of_kind(documents, "Service")["demo-heddle"]["spec"]
    assert [name for name, each in labels.items() if service["selector"].items() <= each.items()] == ["demo-heddle-gm"]
    assert {each["targetPort"]: each["port"] for each in service["ports"]} == {
        name: port for name, port in PORTS.items() if name != "masters"
    }
    budgets = of_kind(documents, "PodDisruptionBudget")
    assert budgets.keys() == labels.keys()
    for name, budget in budgets.items():
        assert [pod for pod, each in labels.items() if selects(budget["spec"]["selector"], each)] == [name]
        assert budget["spec"]["maxUnavailable"] == 1
    for name, each in workloads(documents).items():
        assert [pod for pod, own in labels.items() if selects(each["spec"]["selector"], own)] == [name]


def test_only_masters_reach_the_port_of_masters(render):
    documents = render(FULL)
    policies = of_kind(documents, "NetworkPolicy")
    labels = [pod["metadata"]["labels"] for pod in pods(documents).values()]
    masters, clients = policies["demo-heddle"]["spec"], policies["demo-heddle-clients"]["spec"]
    assert all(selects(masters["podSelector"], each) for each in labels)
    (links,) = masters["ingress"]
    assert links["ports"] == [{"port": PORTS["masters"], "protocol": "TCP"}]
    assert [peer.keys() for peer in links["from"]] == [{"podSelector"}]
    (served,) = clients["ingress"]
    assert {each["port"] for each in served["ports"]} == PORTS.keys() - {"masters"}
    assert served["from"] == FULL["networkPolicy"]["clients"]
    assert masters["egress"][-1] == FULL["networkPolicy"]["egress"][0]
    assert [each["port"] for each in masters["egress"][1]["ports"]] == [53, 53]
    assert of_kind(render(VALUES | {"networkPolicy": {"enabled": False}}), "NetworkPolicy") == {}


def test_no_secret_is_in_what_the_chart_makes(render):
    documents = render(FULL)
    assert of_kind(documents, "Secret") == {}
    own = {"gm": "heddle-secrets", "lm-east": "heddle-secrets-lm-east", "lm-west-2": "heddle-secrets-lm-west-2"}
    for name, pod in pods(documents).items():
        secret = own[name.removeprefix("demo-heddle-")]
        found = [each["secret"]["secretName"] for each in pod["spec"]["volumes"] if "secret" in each]
        assert found == [secret], "each part sees its own alone"
        (url,) = [each for each in pod["spec"]["containers"][0]["env"] if each["name"] == "HEDDLE_STORE_URL"]
        assert url["valueFrom"]["secretKeyRef"] == {"name": secret, "key": "store-url"}
    same = pods(render(FULL | {"localMaster": {"secretName": "one"}}))["demo-heddle-lm-east"]
    assert {"name": "secrets", "secret": {"secretName": "one"}} in same["spec"]["volumes"]


def test_only_pods_that_are_named_are_clients_if_nobody_says_who(render):
    (served,) = of_kind(render(VALUES), "NetworkPolicy")["demo-heddle-clients"]["spec"]["ingress"]
    assert served["from"] == [{"podSelector": {"matchLabels": {"demo-heddle-client": "true"}}}]


def test_each_global_master_has_an_audit_file_on_a_volume_that_may_last(render):
    claim = {"persistentVolumeClaim": {"claimName": "audit"}}
    for values, volume in ((VALUES, {"emptyDir": {}}), (VALUES | {"audit": {"volume": claim}}, claim)):
        for name, pod in pods(render(values)).items():
            file = parse(CONFIGURATION, source=name, environment=environment_of(pod)).log.audit_file
            assert str(file) == ("/var/lib/heddle/audit/demo-heddle-gm-0.log" if name.endswith("-gm") else "None")
            mounted = [each for each in pod["spec"]["volumes"] if each["name"] == "audit"]
            assert mounted == ([{"name": "audit", **volume}] if name.endswith("-gm") else [])


def test_secrets_come_to_heddle_as_files_that_it_takes(render, tmp_path):
    """Kubernetes shows them as links to files that the pod's group may read."""
    shown, kept = tmp_path / "secrets", tmp_path / "kept"
    (shown / "..data").mkdir(parents=True)
    for name in ("masters.secret", "store-url"):
        (shown / "..data" / name).write_text("0123456789abcdef" * 4)
        (shown / "..data" / name).chmod(0o440)
        (shown / name).symlink_to(f"..data/{name}")
    (init,) = pods(render(VALUES))["demo-heddle-gm"]["spec"]["initContainers"]
    script = init["command"][-1].replace("/run/heddle/secrets", str(kept)).replace("/secrets/", f"{shown}/")
    subprocess.run([*init["command"][:-1], script], check=True, timeout=30)
    assert read_secret(kept / "masters.secret") == b"0123456789abcdef" * 4
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}


def test_with_certificates_masters_have_names_that_last_and_each_pod_its_own(render, tmp_path):
    documents = render(CERTIFIED)
    assert of_kind(documents, "StatefulSet").keys() == {"demo-heddle-gm"}
    assert of_kind(documents, "Deployment").keys() == {"demo-heddle-lm-east", "demo-heddle-lm-west-2"}
    for name, pod in pods(documents).items():
        own = "gm.demo-heddle-gm-0" if name.endswith("-gm") else name.replace("demo-heddle-lm-", "lm.")
        kept = unpacked(pod, tmp_path / name, "gm.demo-heddle-gm-0", "gm.demo-heddle-gm-1", "lm.east", "lm.west-2")
        masters = parse(CONFIGURATION, source=name, environment=environment_of(pod)).masters
        assert masters.secret_file is None
        assert (kept / str(masters.tls.certificate).rpartition("/")[2]).read_text() == f"{own}.crt"
        assert (kept / str(masters.tls.key_file).rpartition("/")[2]).read_text() == f"{own}.key"
        assert (kept / str(masters.tls.ca).rpartition("/")[2]).read_text() == "masters-ca.crt"
        assert {file.name for file in kept.iterdir()} == {
            "masters.crt",
            "masters.key",
            "masters-ca.crt",
            "security.secret",
        }
        assert {stat.S_IMODE(file.stat().st_mode) for file in kept.iterdir()} == {0o600}


def unpacked(pod, folder, *masters):
    """What the first container of a pod keeps of a secret in which each file has its name as its content."""
    shown, kept = folder / "shown", folder / "kept"
    shown.mkdir(parents=True)
    for name in ("masters-ca.crt", "security.secret", *(f"{each}.{end}" for each in masters for end in ("crt", "key"))):
        (shown / name).write_text(name)
    (init,) = pod["spec"]["initContainers"]
    filled = {each["name"]: each.get("value", "").replace("$(POD_NAME)", "demo-heddle-gm-0") for each in init["env"]}
    script = init["command"][-1].replace("/run/heddle/secrets", str(kept)).replace("/secrets/", f"{shown}/")
    subprocess.run([*init["command"][:-1], script], check=True, timeout=30, env=os.environ | filled)
    return kept
