#!/usr/bin/env python3
"""Runs a command in a process that the kernel refuses io_uring, as many containers do: io_uring_setup fails with EPERM.

    python3 tests/support/without_io_uring.py COMMAND...
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # classic BPF: BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
IO_URING_SETUP = 425  # on every architecture; offset 0 of struct seccomp_data is the number of the call


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def refuse_io_uring():
    """For this process and all that it starts, for good."""
    rows = [(LOAD_WORD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP), (RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    program = Program(len(rows), b"".join(struct.pack("=HBBI", *row) for row in rows))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(IO_URING_SETUP, 1, None) != -1 or ctypes.get_errno() != errno.EPERM:
        raise RuntimeError("io_uring_setup is not refused")


if __name__ == "__main__":
    refuse_io_uring()
    os.execvp(sys.argv[1], sys.argv[1:])
