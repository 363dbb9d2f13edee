"""Names of control groups, by the paths that managers of containers, jobs and units create."""

from __future__ import annotations

import pytest

from turbotui.machine.tasks.group_names import GroupName, group_name, group_paths

ID = "4f1b2a9c0d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
UID = "7c1f3e2a-0b4d-4e6f-8a9b-0c1d2e3f4a5b"
LOW = UID.replace("-", "_")

KNOWN: tuple[tuple[str, str, str], ...] = (
    # systemd 252, cgroup v2
    ("/system.slice/ssh.service", "ssh.service", "/system.slice/ssh.service"),
    ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "/user.slice/user-1000.slice/session-3.scope"),
    ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-2211.scope",
     "app-gnome-firefox-2211.scope", ""),
    ("/user.slice/user-1000.slice/user@1000.service/init.scope", "init.scope", ""),
    ("/user.slice/user-1000.slice", "user-1000.slice", ""),
    ("/init.scope", "init.scope", "/init.scope"),
    # Docker 24: systemd driver, cgroupfs driver, below a parent of its own
    (f"/system.slice/docker-{ID}.scope", "docker 4f1b2a9c0d3e", f"/system.slice/docker-{ID}.scope"),
    (f"/docker/{ID}", "docker 4f1b2a9c0d3e", f"/docker/{ID}"),
    (f"/docker/{ID}/init.scope", "docker 4f1b2a9c0d3e", f"/docker/{ID}"),
    (f"/actions_job/{ID}", "container 4f1b2a9c0d3e", ""),
    # Podman 4: root and rootless, with the process in a group below its scope, and what watches it
    (f"/machine.slice/libpod-{ID}.scope/container", "podman 4f1b2a9c0d3e", f"/machine.slice/libpod-{ID}.scope"),
    (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope/container",
     "podman 4f1b2a9c0d3e", ""),
    (f"/libpod_parent/libpod-{ID}", "podman 4f1b2a9c0d3e", ""),
    (f"/machine.slice/libpod-conmon-{ID}.scope", "conmon 4f1b2a9c0d3e", ""),
    # Kubernetes: kubelet with systemd and cgroupfs drivers, three runtimes
    (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{LOW}.slice/cri-containerd-{ID}.scope",
     "cri-containerd pod 7c1f3e2a 4f1b2a9c0d3e", ""),
    (f"/kubepods.slice/kubepods-pod{LOW}.slice/cri-containerd-{ID}.scope",
     "cri-containerd pod 7c1f3e2a 4f1b2a9c0d3e", ""),
    (f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{LOW}.slice/crio-{ID}.scope",
     "crio pod 7c1f3e2a 4f1b2a9c0d3e", ""),
    (f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{LOW}.slice/docker-{ID}.scope",
     "docker pod 7c1f3e2a 4f1b2a9c0d3e", ""),
    (f"/system.slice/containerd.service/kubepods-burstable-pod{LOW}.slice:cri-containerd:{ID}",
     "cri-containerd pod 7c1f3e2a 4f1b2a9c0d3e", ""),
    (f"/kubepods/burstable/pod{UID}/{ID}", "k8s pod 7c1f3e2a 4f1b2a9c0d3e", f"/kubepods/burstable/pod{UID}/{ID}"),
    (f"/kubepods/pod{UID}/{ID}", "k8s pod 7c1f3e2a 4f1b2a9c0d3e", ""),
    (f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{LOW}.slice", "k8s pod 7c1f3e2a", ""),
    (f"/kubelet/kubepods/burstable/pod{UID}", "k8s pod 7c1f3e2a", ""),
    # others
    (f"/ecs/0f9de17a-02ab-4a6c/{ID}", "ecs 4f1b2a9c0d3e", ""),
    (f"/system.slice/nerdctl-{ID}.scope", "containerd 4f1b2a9c0d3e", ""),
    ("/lxc.payload.web/system.slice/nginx.service", "lxc web", "/lxc.payload.web"),
    ("/lxc/web", "lxc web", ""),
    ("/machine.slice/systemd-nspawn@build\\x2dbox.service/payload", "nspawn build-box", ""),
    ("/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator", "machine qemu-1-vm", ""),
    # Slurm 20 (v1) and 22.05 (v2)
    ("/slurm/uid_1000/job_4711/step_0/task_3", "slurm 4711.0", "/slurm/uid_1000/job_4711/step_0"),
    ("/slurm_node7/uid_1000/job_4711/step_batch", "slurm 4711.batch", ""),
    ("/system.slice/slurmstepd.scope/job_4711/step_extern/user/task_special", "slurm 4711.extern", ""),
    ("/system.slice/node7_slurmstepd.scope/job_4711/step_0/user/task_0", "slurm 4711.0", ""),
    # nothing that anybody is known to make
    ("/my/own/group", "/my/own/group", "/my/own/group"),
    ("/", "/", "/"),
)


@pytest.mark.parametrize(("path", "text", "whole"), KNOWN, ids=[text for _, text, _ in KNOWN])
def test_paths_of_real_machines_have_the_name_that_their_manager_gave(path: str, text: str, whole: str) -> None:
    name = group_name(group_paths(f"0::{path}\n"))
    assert name is not None
    assert name.text == text
    assert path.startswith(name.path)
    assert not whole or name.path == whole


def test_of_version_1_the_hierarchy_that_says_most_counts() -> None:
    v1 = (f"12:pids:/docker/{ID}\n11:cpu,cpuacct:/docker/{ID}\n1:name=systemd:/docker/{ID}\n"
          "0::/system.slice/containerd.service\n")
    name = group_name(group_paths(v1))
    assert name == GroupName("docker", "", ID, path=f"/docker/{ID}")
    slurm = ("9:freezer:/slurm/uid_1000/job_12/step_1\n4:memory:/slurm/uid_1000/job_12/step_1/task_0\n"
             "1:name=systemd:/system.slice/slurmd.service\n0::/\n")
    assert (name := group_name(group_paths(slurm))) is not None
    assert name.text == "slurm 12.1"


def test_without_a_finer_group_the_unit_of_the_hierarchy_of_processes_counts() -> None:
    hybrid = "5:memory:/user.slice/user-0.slice\n1:name=systemd:/system.slice/cron.service\n0::/\n"
    name = group_name(group_paths(hybrid))
    assert name is not None
    assert name.text == "cron.service"


def test_a_process_without_groups_has_no_name() -> None:
    assert group_name(group_paths("")) is None
    assert group_paths("nonsense\n1:cpu\n") == ()


def test_names_that_would_move_a_cursor_are_marked() -> None:
    name = group_name(group_paths("0::/machine.slice/machine-a\\x1b[2J.scope\n"))
    assert name is not None
    assert "\x1b" not in name.text
