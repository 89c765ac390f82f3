"""The fence around code that is run: what the system offers to keep a process from writing outside one folder, whatever language writes.

Two means of Linux, each used where it is there. Landlock (landlock(7), 5.13 and newer): from then on the kernel refuses this process and
what it starts to create, write, truncate or remove files outside the folder, to open TCP connections and to signal others. A user and mount
namespace (user_namespaces(7), mount_setattr(2), 5.12 and newer): every file system but the folder is read-only for this process, times and
modes of files among it. Where there is neither, only the hook in Python's own calls is left, which code in C does not pass through.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import sys
from collections.abc import Sequence

LANDLOCK, NAMESPACE = "landlock", "namespace"
MEANS = (NAMESPACE, LANDLOCK)

# landlock(7); the numbers of system calls are the same on every architecture from 424 on
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF, _MOUNT_SETATTR = 444, 445, 446, 442
_VERSION, _PATH_BENEATH = 1, 1
_WRITE_FILE = 1 << 1
_CHANGES = sum(1 << bit for bit in range(4, 13))  # remove folders and files, make devices, folders, files, sockets, pipes, links
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15  # from the 2nd, 3rd and 5th version on
_TCP = 3  # bind and connect, from the 4th version on
_SCOPES = 3  # abstract sockets and signals, from the 6th version on
_NO_NEW_PRIVILEGES, _PARENT_DEATH_SIGNAL = 38, 1
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_READ_ONLY = 1
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_CAPABILITIES = 0x20080522  # the third version of capset(2)
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


class _MountAttributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace"))


class Refused(OSError):
    """The system does not offer, or does not allow, a means."""


def _libc() -> ctypes.CDLL:
    if sys.platform != "linux" or platform.machine().lower() not in ("x86_64", "amd64", "aarch64", "arm64", "riscv64", "ppc64le", "s390x"):
        raise Refused("not on this system")
    return ctypes.CDLL(None, use_errno=True)


def _call(libc: ctypes.CDLL, number: int, *arguments: object) -> int:
    given = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result: int = libc.syscall(ctypes.c_long(number), *given)
    if result < 0:
        raise Refused(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def separate(folder: str) -> None:
    """Mounts everything but `folder` read-only, for this process alone. To be called while it has one thread. Raises Refused."""
    libc = _libc()
    user, group = os.getuid(), os.getgid()
    try:
        if libc.unshare(_NEW_USER | _NEW_MOUNTS) != 0:
            raise Refused(ctypes.get_errno(), "no namespace of its own")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
                stream.write(text)
    except OSError as error:
        raise Refused(error.errno, str(error)) from None
    inside = os.fsencode(os.path.realpath(folder))
    for source, target, flags in ((None, b"/", _RECURSIVE | _PRIVATE), (inside, inside, _BIND)):
        if libc.mount(source, target, None, ctypes.c_ulong(flags), None) != 0:
            raise Refused(ctypes.get_errno(), "no mounts of its own")
    closed, opened = _MountAttributes(set=_READ_ONLY), _MountAttributes(clear=_READ_ONLY)
    size = ctypes.sizeof(_MountAttributes)
    _call(libc, _MOUNT_SETATTR, _AT_FDCWD, ctypes.c_char_p(b"/"), _AT_RECURSIVE, ctypes.byref(closed), size)
    _call(libc, _MOUNT_SETATTR, _AT_FDCWD, ctypes.c_char_p(inside), 0, ctypes.byref(opened), size)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset((ctypes.c_uint32 * 2)(_CAPABILITIES, 0), nothing) != 0:  # or what is closed could be opened again
        raise Refused(ctypes.get_errno(), "capabilities are kept")
    os.chdir(os.getcwd())  # what is mounted now, not what it covers


def restrict(folder: str) -> None:
    """Has the kernel refuse this process any change outside `folder`, now and for good. Raises Refused."""
    libc = _libc()
    version = _call(libc, _CREATE_RULESET, None, 0, _VERSION)
    files = _WRITE_FILE | _CHANGES
    files |= sum(right for right, since in ((_REFER, 2), (_TRUNCATE, 3), (_IOCTL, 5)) if version >= since)
    ruleset = _Ruleset(files, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call(libc, _CREATE_RULESET, ctypes.byref(ruleset), size, 0)
    try:
        for path, allowed in ((folder, files), (os.devnull, _WRITE_FILE | (files & _TRUNCATE))):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                beneath = _Beneath(allowed, descriptor)
                _call(libc, _ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(beneath), 0)
            finally:
                os.close(descriptor)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
            raise Refused(ctypes.get_errno(), "privileges can be gained")
        _call(libc, _RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def end_with_parent(parent: int) -> None:
    """Has the kernel end this process when the one that started it, `parent`, is gone; where it offers that."""
    try:
        _libc().prctl(_PARENT_DEATH_SIGNAL, 9, 0, 0, 0)
    except OSError:
        return
    if os.getppid() != parent:  # it is gone already
        os._exit(1)


def put_up(scratch: str, work: str, means: Sequence[str] = MEANS) -> list[str]:
    """Closes the fence: nothing outside `scratch` (by a namespace), then nothing outside `work` in it (by Landlock), can be written.

    To be called while the process has one thread, since both hold for the thread that calls and those that it starts. Returns the means
    that hold, none where the system offers none.
    """
    holding = []
    for name, close, folder in ((NAMESPACE, separate, scratch), (LANDLOCK, restrict, work)):
        if name in means:
            with contextlib.suppress(OSError):
                close(folder)
                holding.append(name)
    return holding
