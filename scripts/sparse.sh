#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# sparse for kbuild (CHECK=). Debian's 0.6.4 lacks __typeof_unqual__, so that
# kbuild would silently not run it at all; and it fails on the assertions of
# module_param(), after which it checks nothing more in the file. The compiler
# checks the assertions anyway.
exec sparse -D__typeof_unqual__=__typeof__ '-D_Static_assert(...)=' "$@"
