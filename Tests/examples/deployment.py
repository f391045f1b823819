#!/usr/bin/python3
"""The files in Examples/Deployment: systemd accepts the units, and the YAML files fit together.

    Tests/examples/deployment.py COMMAND      COMMAND: the folder with the command `tidings`

The directories that the containers share are made as the files say. A user as in the files creates a center there. If
this process may not mount a file system or become another user, that is said, and not tried.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Examples/Deployment"


def verified(folder, name, text):
    """What systemd says about a unit. Its programs are not installed here, so others stand for them."""
    path = folder / name
    path.write_text(re.sub(r"^(ExecStart=)\S+", r"\1/bin/true", text, flags=re.M))
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
    return (result.stdout + result.stderr).strip() or (f"status {result.returncode}" if result.returncode else "")


def units():
    names = sorted(path.name for path in FOLDER.glob("*.service"))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in names:
            text = (FOLDER / name).read_text()
            said = verified(folder, name, text)
            if said:
                sys.exit(f"systemd does not accept {name}: {said}")
            keys = dict(line.split("=", 1) for line in text.split("\n") if re.match("[A-Z][A-Za-z]*=", line))
            if keys.get("RemoveIPC") != "no" or "User" not in keys or "DynamicUser" in keys:
                sys.exit(f"{name} does not keep its centers: it needs a user, and RemoveIPC=no")
        if not verified(folder, names[0], (FOLDER / names[0]).read_text() + "[Service]\nRemoveIPCs=no\n"):
            sys.exit("systemd accepts a wrong unit")
    print(f"{len(names)} units: systemd accepts them")


def settings(command):
    """The line that sets the first settings, by hand: it changes none that are there."""
    text = (FOLDER / "workers@.service").read_text()
    script = shlex.split(re.search(r"^ExecStartPre=(.*)$", text, re.M)[1])[2].replace("$$", "$")
    variables = dict(pair.split("=", 1) for pair in re.search(r"^Environment=(.*)$", text, re.M)[1].split())
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        file = pathlib.Path(folder, "settings.json")
        environment = {**variables, "FILE": str(file), "TIDINGS_DIRECTORY": folder,
                       "PATH": f"{command}:{os.environ['PATH']}"}
        for number in (1, 2):
            file.write_text(f'{{"version":{number}}}')
            subprocess.run(["/bin/sh", "-c", script], env=environment, check=True, stderr=subprocess.DEVNULL)
            value = subprocess.run(["tidings", "state", "get", variables["NAME"], variables["CENTER"]], env=environment,
                                   check=True, capture_output=True, text=True).stdout
            if '"version":1' not in value:
                sys.exit(f"workers@.service sets {value}")
    print("workers@.service: the first settings stay")


def created(command, directory, user, before=""):
    """What `tidings create` says as that user, and in a mount namespace of its own, after a command of root's."""
    script = f"{before}\nexec setpriv --reuid {user} --regid {user} --clear-groups tidings create deployed --slots 256"
    environment = {**os.environ, "TIDINGS_DIRECTORY": directory, "PATH": f"{command}:{os.environ['PATH']}"}
    result = subprocess.run(["unshare", "--mount", "sh", "-ec", script], env=environment, capture_output=True,
                            text=True)
    return "" if result.returncode == 0 else result.stderr.strip() or f"status {result.returncode}"


def containers(command):
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    pod = yaml.safe_load((FOLDER / "pod.yaml").read_text())
    services, volume = compose["services"].values(), compose["volumes"]["centers"]["driver_opts"]
    users = {service["user"] for service in services}
    directories = {service["environment"]["TIDINGS_DIRECTORY"] for service in services}
    mounted = {tuple(service["volumes"]) for service in services}
    if len(users) != 1 or len(directories) != 1 or mounted != {(f"centers:{min(directories)}",)}:
        sys.exit("compose.yaml: the containers do not share a user, a directory and a volume")
    spec = pod["spec"]
    user, environments = spec["securityContext"]["runAsUser"], [each["env"] for each in spec["containers"]]
    memory = spec["volumes"][0]["emptyDir"]["medium"]
    if len(environments) != 2 or environments[0] != environments[1] or memory != "Memory":
        sys.exit("pod.yaml: the containers do not share a directory in memory")
    centers = environments[0][0]["value"]
    made = spec["initContainers"][0]["command"]
    if made[-1] != centers or not centers.startswith(spec["containers"][0]["volumeMounts"][0]["mountPath"] + "/"):
        sys.exit("pod.yaml: the directory that is made is not that of the centers")
    print("compose.yaml, pod.yaml: the containers share a user, a directory and a volume")

    with tempfile.TemporaryDirectory(prefix="tidings-deployment-", dir="/dev/shm") as folder:
        os.chmod(folder, 0o755)
        mount = os.path.join(folder, "mount")
        os.mkdir(mount)
        attempt = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", mount]
        if os.getuid() != 0 or subprocess.run(attempt, capture_output=True).returncode:
            return print("NOT TRIED: this process may not mount, so no directory was made as the files say")
        tmpfs = f"mount -t {volume['type']} -o {volume['o']} {volume['device']} {mount}"
        said = created(command, mount, users.pop().split(":")[0], tmpfs)
        if said:
            sys.exit(f"compose.yaml: no center in its volume: {said}")
        # Kubernetes makes the directory of an emptyDir with this mode.
        empty = f"mount -t tmpfs -o mode=0777 tmpfs {mount}"
        if "rename" not in created(command, mount, user, empty):
            sys.exit("pod.yaml: a directory where every user may rename files is accepted")
        make = shlex.join([*made[:-1], f"{mount}/centers"])
        said = created(command, f"{mount}/centers", user,
                       f"{empty}\nsetpriv --reuid {user} --regid {user} --clear-groups {make}")
        if said:
            sys.exit(f"pod.yaml: no center in its directory: {said}")
    print("compose.yaml, pod.yaml: their user creates a center in the directory that they make")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    command = os.path.realpath(sys.argv[1])
    units()
    settings(command)
    containers(command)


main()
