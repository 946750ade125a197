// SPDX-License-Identifier: GPL-2.0
///
/// Finds functions that send an IPI and write to the send register (doorbell)
/// on a path without a dsb: after no barrier at all, or after one that orders
/// memory accesses only (dmb, smp_*).
/// A doorbell that is a system register or an instruction is no memory access:
/// only a dsb (wmb, mb) holds it back until the stores before it are visible.
///
/// Senders: .ipi_send_mask, .ipi_send_single, the function that is given to
/// ipi_mux_create(), set_smp_cross_call() or set_send_ipi(), and what these
/// call in the same file. writel(), iowrite32() and the like are passed over:
/// they have the barrier in them. A finding is for a reader to judge: the
/// barrier may be in the caller.
//
// spatch --very-quiet --sp-file ipi-doorbell.cocci drivers/irqchip/irq-*.c

@initialize:python@
@@
senders = set()		# (file, function)
calls = {}		# of a function: those it calls
plain = set()		# positions with a plain barrier before them
told = set()

def reached_by_senders():
    reached, todo = set(), list(senders)
    while todo:
        function = todo.pop()
        if function not in reached:
            reached.add(function)
            todo += calls.get(function, ())
    return reached

@mask@
identifier chip, f;
position p;
@@
struct irq_chip chip@p = { .ipi_send_mask = f, };

@script:python@
f << mask.f;
p << mask.p;
@@
senders.add((p[0].file, f))

@single@
identifier chip, f;
position p;
@@
struct irq_chip chip@p = { .ipi_send_single = f, };

@script:python@
f << single.f;
p << single.p;
@@
senders.add((p[0].file, f))

@given@
identifier f;
expression e;
position p;
@@
(
ipi_mux_create@p(e, \(f\|&f\))
|
set_smp_cross_call@p(\(f\|&f\), ...)
|
set_send_ipi@p(\(f\|&f\), ...)
)

@script:python@
f << given.f;
p << given.p;
@@
senders.add((p[0].file, f))

@call exists@
identifier f, g;
position p;
@@
f(...)
{
... when != dsb(...)
    when != wmb()
    when != mb()
g@p(...)
... when any
}

@script:python@
f << call.f;
g << call.g;
p << call.p;
@@
calls.setdefault((p[0].file, f), set()).add((p[0].file, g))

@weak exists@
identifier f;
identifier doorbell =~ "^(write[bwlq]_relaxed|__raw_write[bwlq]|write_sysreg(_s)?|gic_write_sgi1r|gic_insn|write_gic_.*|write_vpe_c0_cause|irq_chip_retrigger_hierarchy|iocsr_write(32|64)|csr_write|set_er)$";
position p;
@@
f(...)
{
... when != dsb(...)
    when != wmb()
    when != mb()
doorbell@p(...)
... when any
}

@ordered exists@
identifier weak.f, weak.doorbell;
identifier fence =~ "^(dmb|smp_w?mb|smp_mb__after_atomic)$";
position weak.p;
@@
f(...)
{
... when any
fence(...);
... when any
doorbell@p(...)
... when any
}

@script:python@
p << weak.p;
unused << ordered.fence;
@@
plain.add((p[0].file, p[0].line))

@script:python@
f << weak.f;
doorbell << weak.doorbell;
p << weak.p;
@@
what = "a plain barrier" if (p[0].file, p[0].line) in plain else "no barrier"
line = "%s:%s: %s: %s after %s" % (p[0].file, p[0].line, f, doorbell, what)
if (p[0].file, f) in reached_by_senders() and line not in told:
    told.add(line)
    print(line)
