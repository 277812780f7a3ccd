#!/usr/bin/env python3
"""Runs a program under a seccomp filter that makes system calls fail, as a container may.

Usage: forbid.py NAME=ERRNO... -- PROGRAM ARGUMENT...      forbid.py io_uring_setup=EPERM -- true
"""

import ctypes
import errno
import os
import platform
import struct
import sys

# The same number on every architecture: both were added after the tables were unified.
CALLS = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427}
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
RETURN_ALLOW, RETURN_ERRNO = 0x7FFF0000, 0x00050000
OFFSET_OF_CALL, OFFSET_OF_ARCHITECTURE = 0, 4


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def instructions(calls, architecture):
    """The classic BPF program: `calls` is a list of (number, errno); all others are allowed."""
    code = [(LOAD, 0, 0, OFFSET_OF_ARCHITECTURE),
            (JUMP_IF_EQUAL, 1, 0, architecture),
            (RETURN, 0, 0, RETURN_ALLOW),
            (LOAD, 0, 0, OFFSET_OF_CALL)]
    for number, error in calls:
        code += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, RETURN_ERRNO | error)]
    code.append((RETURN, 0, 0, RETURN_ALLOW))
    return b"".join(struct.pack("HBBI", *one) for one in code)


def install(calls):
    """Holds for this process and everything that it becomes or starts."""
    text = instructions(calls, ARCHITECTURES[platform.machine()])
    memory = ctypes.create_string_buffer(text, len(text))
    program = _Program(len(text) // 8, ctypes.addressof(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                      (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


def main(arguments):
    split = arguments.index("--")
    calls = []
    for one in arguments[:split]:
        name, error = one.split("=")
        calls.append((CALLS[name], getattr(errno, error)))
    install(calls)
    os.execv(arguments[split + 1], arguments[split + 1:])


if __name__ == "__main__":
    main(sys.argv[1:])
