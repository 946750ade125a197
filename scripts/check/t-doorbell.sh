#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# scripts/ipi-doorbell.cocci: what it must find and what it must pass, and that
# what it finds in the drivers of the base is what the admin guide explains.
set -eu
. "$(dirname "$0")/../lib.sh"
. "$TOP/scripts/check/tap.sh"
need spatch

PLACE=$OUT/doorbell
rm -rf "$PLACE"
mkdir -p "$PLACE"

found() { # FILE...
	(cd "$PLACE" && spatch --very-quiet --sp-file "$TOP/scripts/ipi-doorbell.cocci" "$@" 2>spatch.log) ||
		{ echo "spatch failed:" && tail -n 3 "$PLACE/spatch.log"; }
}

# rule NAME WANTED: the code on stdin, as a file NAME.c; WANTED: "doorbell kind", or nothing
rule() {
	cat >"$PLACE/$1.c"
	same "$1: ${2:-nothing found}" "$2" "$(found "$1.c" | sed 's/^[^ ]* [^ ]* //' | sort)"
}

chip='static const struct irq_chip chip = { .name = "x", .ipi_send_mask = send, };'

rule missing "write_sysreg_s after no barrier" <<EOF
static void send(struct irq_data *d, const struct cpumask *mask)
{
	write_sysreg_s(d->hwirq, SEND);
	isb();
}
$chip
EOF

rule dmb "gic_write_sgi1r after a plain barrier" <<EOF
static void send(struct irq_data *d, const struct cpumask *mask)
{
	dmb(ishst);
	gic_write_sgi1r(d->hwirq);
}
$chip
EOF

rule smp_wmb "writel_relaxed after a plain barrier" <<EOF
static void send(struct irq_data *d, const struct cpumask *mask)
{
	int cpu;

	smp_wmb();
	for_each_cpu(cpu, mask)
		writel_relaxed(1, base + cpu);
}
$chip
EOF

rule barrier-after "gic_insn after no barrier" <<EOF
static void send(struct irq_data *d, unsigned int cpu)
{
	gic_insn(d->hwirq, CDPEND);
	dsb(ishst);
}
static const struct irq_chip chip = { .ipi_send_single = send, };
EOF

rule one-path "write_sysreg after no barrier" <<EOF
static void send(struct irq_data *d, const struct cpumask *mask)
{
	if (d->hwirq)
		dsb(ishst);
	write_sysreg(d->hwirq, SEND);
}
$chip
EOF

rule helper "writel_relaxed after no barrier" <<EOF
static void put(u32 value)
{
	writel_relaxed(value, base);
}
static void send(unsigned int cpu)
{
	put(cpu);
}
static int init(void)
{
	return ipi_mux_create(8, send);
}
EOF

rule dsb "" <<EOF
static void send(struct irq_data *d, const struct cpumask *mask)
{
	int cpu;

	dsb(ishst);
	for_each_cpu(cpu, mask)
		gic_write_sgi1r(cpu);
	isb();
}
$chip
EOF

rule wmb-or-dsb "" <<EOF
static void send(struct irq_data *d, const struct cpumask *mask)
{
	if (IS_ENABLED(CONFIG_ARM_GIC_V3_IPI_ISHST))
		dsb(ishst);
	else
		wmb();
	write_sysreg_s(d->hwirq, SEND);
}
$chip
EOF

rule helper-after-dsb "" <<EOF
static void put(u32 value)
{
	write_sysreg_s(value, SEND);
}
static void send(struct irq_data *d, const struct cpumask *mask)
{
	dsb(ishst);
	put(d->hwirq);
}
$chip
EOF

rule writel "" <<EOF
static void send(unsigned int cpu)
{
	writel(1, base + cpu);
}
static int init(void)
{
	return ipi_mux_create(8, send);
}
EOF

rule no-sender "" <<EOF
static void mask_irq(struct irq_data *d)
{
	writel_relaxed(1, base);
	write_sysreg_s(d->hwirq, EOI);
}
static const struct irq_chip chip = { .irq_mask = mask_irq, };
EOF

# "driver: function" in the text is "irq-driver.c: function" here
drivers() {
	git -C "$TREE" archive "$(git -C "$TREE" rev-parse refs/ipi/base)" drivers/irqchip | tar -xf - -C "$PLACE"
	cd "$PLACE/drivers/irqchip"
	# shellcheck disable=SC2046
	found $(grep -lE 'ipi_send_(mask|single)|ipi_mux_create|set_smp_cross_call|set_send_ipi' irq-*.c |
		sed 's,^,drivers/irqchip/,') | sed 's,^drivers/irqchip/\([^:]*\):[0-9]*: ,\1 ,; s/:.*//' | sort -u
}
explained() {
	sed -n 's/^``\(irq-[a-z0-9-]*\.c\)``, ``\([a-z0-9_]*\)()``: .*/\1 \2/p' \
		"$TOP/Documentation/core-api/ipi.rst" | sort
}
if [ -n "${LONG:-}" ] || [ "${1:-}" = all ]; then
	"$TOP/scripts/tree.sh" >&2
	same "each finding in drivers/irqchip of the base is explained in core-api/ipi.rst, and nothing else" \
		"$(drivers)" "$(explained)"
else
	skip "the findings in drivers/irqchip are explained in ipi.rst" "make check-long looks at the drivers"
fi

tap_done
