# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034
# What build.sh and boot.sh know of each architecture. Sourced after lib.sh, which
# takes the first cases here for what ARCH can be.

LAB_HEADER=
LAB_CMDLINE=
TIMEOUT_BASE=300
MEMORY=2048
case $ARCH in
arm64)
	KARCH=arm64
	CROSS=aarch64-linux-gnu-
	IMAGE_FILE=arch/arm64/boot/Image
	QEMU=qemu-system-aarch64
	QEMU_CPU=cortex-a57
	SMP_DEFAULT=64
	SMP_MAX=512
	;;
arm)
	KARCH=arm
	CROSS=arm-linux-gnueabihf-
	IMAGE_FILE=arch/arm/boot/zImage
	LAB_HEADER=arm-relax.h
	# to unload a module, all pages between it and the vmalloc area are flushed from
	# all TLBs one by one; that area begins where the memory ends
	MEMORY=96
	QEMU=qemu-system-arm
	QEMU_CPU=cortex-a15
	SMP_DEFAULT=32
	SMP_MAX=32
	;;
x86_64)
	KARCH=x86_64
	# as named by gcc itself: "gcc" alone may be another one on a machine that is not x86
	CROSS=x86_64-linux-gnu-
	LAB_CMDLINE="csdlock_debug=1"
	QEMU=qemu-system-x86_64
	QEMU_CPU=max,+monitor
	;;
i386)
	KARCH=i386
	CROSS=i686-linux-gnu-
	QEMU=qemu-system-i386
	# its AMD is one that Linux warns not to run with several CPUs
	QEMU_CPU=max,+monitor,vendor=GenuineIntel
	;;
esac

case $ARCH in
arm64 | arm)
	MACHINES="virt virt-6.1 virt-2.6"
	MACHINE_OPTS=gic-version=3
	# with its speed: the driver would divide by the unset one, which 32-bit arm reports
	CONSOLE=ttyAMA0,115200
	VIRTIO=virtio-serial-device
	# the match register of the PL031 clock: QEMU traces each store
	MARK=0x09010004
	TRACE_EVENTS="gicv3_icc_generate_sgi pl031_write"
	;;
esac

case $ARCH in
x86_64 | i386)
	IMAGE_FILE=arch/x86/boot/bzImage
	MEMORY=512
	SMP_DEFAULT=4
	SMP_MAX=8
	MACHINES="microvm"
	# the kernel has no ACPI, which would be a third of it
	MACHINE_OPTS=acpi=off,rtc=on
	CONSOLE=ttyS0,115200
	VIRTIO=virtio-serial-device
	# a port without a device; and the writes to the local APIC's interrupt command
	# register are the IPIs: there is no trace event for these alone
	MARK=0x5a0
	TRACE_EVENTS=memory_region_ops_write
	# ipi_notify does much in one program
	TIMEOUT_BASE=900
	# the CPUs' TSCs are one and the same, and the only clock that can do without the tick
	LAB_CMDLINE="reboot=t tsc=reliable${LAB_CMDLINE:+ $LAB_CMDLINE}"
	;;
esac
