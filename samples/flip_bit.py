#!/usr/bin/env python3
"""Flips the lowest bit of the byte in the middle of a file, as a bad disk might: flip_bit.py FILE"""

import sys

with open(sys.argv[1], "r+b") as file:
    middle = file.seek(0, 2) // 2
    file.seek(middle)
    (byte,) = file.read(1)
    file.seek(middle)
    file.write(bytes([byte ^ 1]))
print(f"{sys.argv[1]}: byte {middle} was {byte:#04x}, is {byte ^ 1:#04x}")
