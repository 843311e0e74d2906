"""The parts around the package: late imports, the wheel's contents, and files that only other programs read."""

import subprocess
import sys
import tomllib
from pathlib import Path

import yaml
from dagster._core.instance.config import dagster_instance_config

import iceberg_assets

ROOT = Path(__file__).parent.parent


def test_importing_every_module_loads_no_pyspark() -> None:
    """PySpark takes a second and a JVM is near: the code server and the command line must do without."""
    everything = (
        "import pkgutil, sys, iceberg_assets\n"
        "for module in pkgutil.walk_packages(iceberg_assets.__path__, 'iceberg_assets.'):\n"
        "    __import__(module.name)\n"
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] in ('pyspark', 'py4j')))"
    )
    assert _python(everything) == ""


def test_without_orchestration_there_is_no_dagster() -> None:
    """The command line and the library stand by themselves."""
    modules = "iceberg_assets.cli, iceberg_assets.maintenance"
    assert _python(f"import sys, {modules}; print(*(m for m in sys.modules if m.partition('.')[0] == 'dagster'))") == ""


def _python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_carries_what_is_not_python() -> None:
    package = Path(iceberg_assets.__file__).parent
    assert (package / "profiles" / "local.yaml").is_file()
    assert (package / "jvm" / "flat-location-provider.jar").is_file()
    assert (package / "py.typed").is_file()


def test_the_workspace_names_the_code_location_as_the_project_does() -> None:
    """Dagster takes two names for one location without a word, and then finds no component."""
    (location,) = yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    assert location["python_module"]["module_name"] == "iceberg_assets.definitions"
    assert location["python_module"]["location_name"] == project["code_location_name"]


def test_the_instance_limits_its_pools(tmp_path: Path) -> None:
    """A pool without a limit does not limit: two rewrites of one table would run at once."""
    (tmp_path / "dagster.yaml").write_text((ROOT / "dagster.yaml").read_text())
    settings, _ = dagster_instance_config(str(tmp_path))
    assert settings["concurrency"]["pools"]["default_limit"] == 1
    assert settings["run_monitoring"]["enabled"]
    assert settings["run_monitoring"]["free_slots_after_run_end_seconds"] > 0
    assert settings["run_monitoring"]["max_runtime_seconds"] > 0
    assert settings["telemetry"] == {"enabled": False}


def test_the_compose_file_opens_ports_on_this_machine_only() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert set(compose["services"]) == {"store", "database", "metastore", "code", "webserver", "daemon"}
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_compose_file_gives_every_service_the_workspace_of_its_command() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    workspace = yaml.safe_load(compose["configs"]["workspace"]["content"])
    (location,) = workspace["load_from"]
    server = location["grpc_server"]
    assert server["host"] in compose["services"]
    assert f"--port {server['port']}" in compose["services"][server["host"]]["command"]
    for name in ("webserver", "daemon"):
        service = compose["services"][name]
        assert service["configs"][0]["target"].endswith(service["command"].split("--workspace ")[1])


def test_the_lock_has_a_hash_for_everything_and_names_no_host() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [number for number, line in enumerate(lines) if "==" in line]
    assert pins
    assert all("--hash=sha256:" in lines[number + 1] for number in pins)
    assert not [line for line in lines if "://" in line]
