#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The figures of the benchmark, as JSON lines, and the page made of them.

bench.py collect DIR           the folder of a boot; lines to the standard output
bench.py report PAGE FILE...   one HTML page from files of such lines

scripts/bench.sh has what the lines hold.
"""
import collections
import datetime
import gzip
import html
import json
import os
import re
import subprocess
import sys

SCHEMA = "ipi-bench-1"
EXACT = "exact count (QEMU trace)"


def die(text):
    sys.exit("ipi: " + text)


# collect

def read_facts(folder):
    with open(os.path.join(folder, "facts"), encoding="utf-8") as f:
        return dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)


def read_trace(folder):
    path = os.path.join(folder, "trace.log")
    if os.path.exists(path + ".gz"):
        return gzip.open(path + ".gz", "rt", errors="replace")
    return open(path, encoding="utf-8", errors="replace")


def count_writes(folder, rows):
    """Adds to each row the writes between its markers, by what was written."""
    by_id = {row["mark"]: row for row in rows}
    current = None
    for row in rows:
        row["writes"] = collections.Counter()
        row["begun"] = 0
    with read_trace(folder) as trace:
        for line in trace:
            word = line.split()
            if word[:1] == ["pl031_write"] and word[2] == "0x00000004":
                value = int(word[4], 16)
                kind, mark = value >> 24, value & 0xffffff
                if kind == 0x1b:
                    current = by_id.get(mark)
                    if current:
                        current["begun"] += 1
                elif kind == 0x1e:
                    current = None
            elif word[:1] == ["gicv3_icc_generate_sgi"] and current:
                if int(word[7]) != current["sgi"]:
                    continue
                # in a storm, everyone sends
                if is_storm(current) or int(word[4], 16) == current["sender"]:
                    current["writes"]["irm" if word[9] == "1" else "list", word[12], word[14]] += 1
    for row in rows:
        if row["begun"] != row["blocks"]:
            die(f"{row['case']}: {row['begun']} markers in the trace, {row['blocks']} runs")


def is_storm(row):
    return row["case"].startswith("storm")


def writes_of_a_round(row):
    """What was written in (nearly) every round makes a round. The rest are IPIs that
    other tasks sent from the same CPU meanwhile. A storm has no rounds: all its writes."""
    regular = collections.Counter()
    for (kind, _, _), n in row["writes"].items():
        if is_storm(row):
            regular[kind] += n
        elif n >= 0.75 * row["rounds"]:
            regular[kind] += 1
    return regular["irm"], regular["list"]


def check_writes(row, clusters):
    """They must be those of the documentation."""
    if row["case"] == "dry":
        wanted = 0, 0
    elif row["case"] in ("self", "one"):
        wanted = 0, 1
    elif row["case"] in ("all_but_self", "everyone", "lock"):
        wanted = (1, 0) if row["position"] == "on" and clusters > 1 else (0, clusters)
    elif row["case"] == "loop":
        wanted = 0, row["cpus"] - 1
    else:
        return
    if (row["irm"], row["list"]) != wanted:
        die(f"{row['case']}, switch {row['position']}: {row['irm']} writes with IRM and {row['list']} "
            f"without it a round, wanted {wanted[0]} and {wanted[1]}")


def collect(folder):
    facts = read_facts(folder)
    with open(os.path.join(folder, "results.ktap"), encoding="utf-8", errors="replace") as f:
        lines = [json.loads(line.split("# json ", 1)[1]) for line in f if "# json " in line]
    if not lines or lines[0]["record"] != "facts":
        die(f"{folder}: no figures in results.ktap")
    rows = [line for line in lines if line["record"] == "cost"]
    cluster = 8 if facts["machine"].startswith("virt-2.6") else 16
    out = dict(lines[0])
    for name in ("base", "version", "repository", "config_sha256", "compiler", "qemu", "accel", "smp"):
        out[name] = facts.get(name, "")
    out["qemu_machine"] = facts["machine"]
    with open(facts["config"], encoding="utf-8") as f:
        out["detectors"] = "CONFIG_PROVE_LOCKING=y\n" in f.readlines()
    out["cluster"] = cluster
    out["boot_seconds"] = int(facts.get("boot_seconds", 0))
    out["date"] = datetime.datetime.now().astimezone().isoformat(timespec="minutes")
    lines = [out]

    count_writes(folder, rows)
    clusters = -(-out["cpus"] // cluster)
    for row in rows:
        row["irm"], row["list"] = writes_of_a_round(row)
        check_writes(row, clusters)
        cost = {k: v for k, v in row.items()
                if k not in ("mark", "sgi", "writes", "irm", "list", "begun", "blocks")}
        cost["cluster"] = cluster
        lines.append(cost)
        writes = {k: row[k] for k in ("schema", "case", "target", "switch", "position", "cpus",
                                      "rounds", "irm", "list") if k in row}
        writes.update(record="writes", per="run" if is_storm(row) else "round", cluster=cluster,
                      all=sum(row["writes"].values()), label=EXACT)
        lines.append(writes)
    for line in lines:
        print(json.dumps(line))


# report

def from_notify_bench(line, path):
    """What scripts/bench/notify.sh prints, as lines of ours"""
    date = datetime.datetime.fromtimestamp(os.path.getmtime(path))
    if line.get("facts"):
        return dict(line, schema=SCHEMA, record="notify_facts",
                    date=date.astimezone().isoformat(timespec="minutes"))
    position = {"base": "base", "B": line["switch"]}.get(line["kernel"], f"design {line['kernel']}")
    return {"schema": SCHEMA, "record": "notify", "arch": line["arch"], "path": line["path"],
            "position": position, "value": line["instructions"], "unit": "instructions",
            "label": "Counted by scripts/bench/notify.sh in QEMU's execution log, "
                     f"{date.isoformat(' ', 'minutes')}."}


def load(paths):
    lines = []
    for path in paths:
        facts = None
        with open(path, encoding="utf-8") as f:
            for nr, text in enumerate(f, 1):
                if not text.strip() or text.startswith("#"):
                    continue
                try:
                    line = json.loads(text)
                    if line.get("bench") == "notify":
                        line = from_notify_bench(line, path)
                    if line["schema"] != SCHEMA:
                        raise ValueError
                    kind = line["record"]
                except (ValueError, KeyError, TypeError, AttributeError):
                    die(f"{path}:{nr}: not a line of the benchmark (\"schema\": \"{SCHEMA}\")")
                if kind == "facts":
                    facts = line
                line["facts"] = facts if kind != "facts" else None
                line["lab"] = bool(facts and facts.get("qemu"))
                lines.append(line)
    return lines


# dark enough on white, told apart without colours by their dashes and points
COLOUR = {"off": "#b3402e", "on": "#1f6f8b", "base": "#6b6b6b"}
GNUPLOT_HEAD = """
set encoding utf8
set terminal svg noenhanced size {width},{height} font "sans-serif,13" background "#ffffff"
set border 3 lc rgb "#888888"
set tics nomirror out textcolor rgb "#333333"
set grid ytics lc rgb "#e2e2e2" lt 1
set key textcolor rgb "#222222"
"""


def gnuplot(name, script, width=860, height=400):
    """The picture as text to put into the page; its ids are its own."""
    head = GNUPLOT_HEAD.format(width=width, height=height)
    run = subprocess.run(["gnuplot"], input=head + script, text=True, capture_output=True, check=False)
    if run.returncode or "<svg" not in run.stdout:
        die(f"gnuplot cannot draw {name}: {run.stderr.strip()[:200]}")
    svg = run.stdout[run.stdout.index("<svg"):]
    svg = re.sub(r"<title>.*?</title>|<desc>.*?</desc>|<!--.*?-->", "", svg, flags=re.S)
    svg = re.sub(r"(id=['\"]|url\(#|href=['\"]#)", rf"\g<1>{name}_", svg)
    svg = re.sub(r'width="\d+" height="\d+"', 'role="img"', svg, count=1)
    return svg


def block(name, rows):
    return f"${name} << EOD\n" + "\n".join(" ".join(str(c) for c in r) for r in rows) + "\nEOD\n"


class Page:
    def __init__(self, lines):
        self.lines = lines
        self.body = []

    def of(self, record, **want):
        return [x for x in self.lines if x["record"] == record and
                all(x.get(k) == v for k, v in want.items())]

    def add(self, *parts):
        self.body.extend(parts)

    def figure(self, svg, kind, caption):
        self.add(f'<figure>{svg}<figcaption><span class="kind">{kind}</span> {caption}'
                 "</figcaption></figure>")

    def missing(self, what):
        self.add(f'<p class="missing">Not measured in this run: {what}</p>')


def per_round(row):
    return row["irm"] + row["list"]


def number(value):
    """Two digits behind the point if they say something"""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def spread(values):
    """One figure if all are the same, else the least and the most"""
    values = sorted(set(values))
    return " to ".join(number(v) for v in dict.fromkeys((values[0], values[-1])))


def sent_median(row):
    return row["sent"]["median"]


def series(page, record, value, **want):
    """(cluster, position) -> [(cpus, value)], of the lab"""
    out = {}
    for row in page.of(record, **want):
        if row["lab"] and row.get("cluster"):
            out.setdefault((row["cluster"], row["position"]), []).append((row["cpus"], value(row)))
    return {key: sorted(points) for key, points in out.items()}


def cpus_plot(name, data, ylabel, ylog):
    """Lines over the number of CPUs"""
    script, plots = "", []
    ticks = sorted({cpus for points in data.values() for cpus, _ in points})
    for (cluster, position), points in sorted(data.items(), key=lambda d: (-d[0][0], d[0][1])):
        label = f"d{cluster}{position}"
        script += block(label, points)
        style = f'dt {1 if cluster == 16 else 2} pt {7 if cluster == 16 else 4} lw 2 ps 0.8'
        plots.append(f'${label} using 1:2 with linespoints {style} lc rgb "{COLOUR[position]}" '
                     f'title "switch {position}, {cluster} CPUs a cluster"')
    shown = [t for t in ticks if t + 1 not in ticks]
    script += "set logscale x 2\n"
    script += f"set xrange [{ticks[0] * 0.9}:{ticks[-1] * 1.12}]\n"
    script += "set xtics (" + ", ".join(f'"{t}" {t}' for t in shown) + ")\n"
    if ylog:
        script += "set logscale y 2\n"
    else:
        script += "set yrange [0:*]\n"
    script += 'set format y "%.0f"\n'
    script += f'set xlabel "CPUs online"\nset ylabel "{ylabel}"\nset key outside right top width -2\n'
    return gnuplot(name, script + "plot " + ", ".join(plots) + "\n", width=940)


CASE_TEXT = {
    "dry": "dry run", "self": "self", "one": "one CPU", "all_but_self": "all but self",
    "everyone": "everyone", "lock": "all but self, under a lock", "loop": "loop over all CPUs",
    "storm_one": "storm, one target", "storm_all": "storm, all to all",
}


def case_name(row):
    text = CASE_TEXT.get(row["case"], row["case"])
    if "target" in row and row["case"] in ("one", "storm_one"):
        text += f" (CPU {row['target']})"
    return text


def bars_plot(name, data, xlabel, title, log=False):
    """data: (group, position) -> value; a bar for each position, in groups"""
    groups = list(dict.fromkeys(g for g, _ in data))
    positions = list(dict.fromkeys(p for _, p in data))
    other = iter(["#c98a1b", "#5b7f3a", "#7a5a9e"] * len(positions))
    thick = 0.78 / len(positions)
    low, top = 10 if log else 0, max(data.values())
    after = "$1 * 1.06" if log else f"$1 + {top * 0.01}"
    script, plots = "", []
    for i, position in enumerate(positions):
        points = [(data[g, position], f"{len(groups) - k + 0.39 - (i + 0.5) * thick:.3f}")
                  for k, g in enumerate(groups) if (g, position) in data]
        half = f"{thick * 0.46:.3f}"
        script += block(f"b{i}", points)
        plots.append(f"$b{i} using ({low}):2:({low}):1:($2-{half}):($2+{half}) with boxxyerror fs solid 1 "
                     f'noborder lc rgb "{COLOUR.get(position) or next(other)}" title "{title}{position}"')
        plots.append(f'$b{i} using ({after}):2:(sprintf("%.0f", $1)) with labels left font ",11" textcolor rgb "#222222" notitle')
    script += "set ytics (" + ", ".join(f'"{g}" {len(groups) - k}' for k, g in enumerate(groups)) + ")\n"
    script += f"set yrange [0.4:{len(groups) + 0.6}]\nset xrange [{low}:{top * (3 if log else 1.12)}]\n"
    script += "set logscale x\n" if log else ""
    script += "unset grid\nset grid xtics lc rgb '#e2e2e2' lt 1\n"
    script += f'set xlabel "{xlabel}"\nset key outside right top\n'
    return gnuplot(name, script + "plot " + ", ".join(plots) + "\n", width=940,
                   height=110 + (12 + 17 * len(positions)) * len(groups))


STYLE = """
body { font: 15px/1.5 sans-serif; color: #222; background: #fff; max-width: 1000px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.7em; margin-bottom: .2em } h2 { font-size: 1.25em; margin-top: 2em; border-bottom: 1px solid #ddd }
figure { margin: 1em 0 1.5em } figure svg { width: 100%; height: auto; display: block }
figcaption { color: #444; font-size: 14px }
.kind { background: #e8f1f4; color: #14505f; border-radius: 3px; padding: 1px 7px;
	font-size: 13px; white-space: nowrap }
.kind.hw { background: #fbeee6; color: #8a4413 } .kind.tcg { background: #eee; color: #555 }
.missing { color: #8a4413; background: #fbeee6; padding: .4em .8em; border-radius: 3px }
table { border-collapse: collapse; font-size: 14px; margin: 1em 0; width: 100% }
th, td { text-align: left; vertical-align: top; padding: 4px 10px 4px 0; border-bottom: 1px solid #e4e4e4 }
th { color: #555; font-weight: 600 } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
details table { font-size: 12px } details td { white-space: nowrap } summary { cursor: pointer; color: #14505f } .lead { color: #444 }
"""


def kind(text):
    style = "kind"
    if text.startswith("needs"):
        style += " hw"
    if text.startswith("TCG"):
        style += " tcg"
    return f'<span class="{style}">{html.escape(text)}</span>'


def table(head, rows, numeric=()):
    cells = "".join(f'<th{" class=n" if i in numeric else ""}>{h}</th>' for i, h in enumerate(head))
    out = [f"<table><tr>{cells}</tr>"]
    for row in rows:
        out.append("<tr>" + "".join(f'<td{" class=n" if i in numeric else ""}>{c}</td>'
                                    for i, c in enumerate(row)) + "</tr>")
    return "".join(out) + "</table>"


def largest(page, record, **want):
    """off and on of the row with the most CPUs, 16 a cluster if there is a choice"""
    rows = [r for r in page.of(record, **want) if r["lab"]]
    pairs = {}
    for r in rows:
        pairs.setdefault((r["cpus"], r["cluster"]), {})[r["position"]] = r
    whole = [key for key, pair in pairs.items() if "off" in pair and "on" in pair]
    return pairs[max(whole)] if whole else None


BROADCAST = {"switch": "gicv3_sgi_broadcast"}


def summary(page):
    rows = []
    needs = kind("needs hardware")
    pair = largest(page, "writes", case="all_but_self", **BROADCAST)
    seed = "gic_ipi_send_mask() 38.14&nbsp;% of a profile to 0.20&nbsp;%, 10.5&nbsp;s system time to 5.1&nbsp;s"
    if pair:
        where = f"{pair['off']['cpus']} CPUs, {pair['off']['cluster']} a cluster"
        rows.append(["SGI broadcast: register writes for an IPI to all other CPUs, " + where,
                     "-", number(per_round(pair["off"])), number(per_round(pair["on"])),
                     kind("exact count"), seed + " " + needs])
    else:
        rows.append(["SGI broadcast: register writes", "-", "-", "-", kind("not measured in this run"), seed + " " + needs])
    want = dict(case="all_but_self", unit="instructions", **BROADCAST)
    pair = largest(page, "cost", **want)
    if pair:
        where = f"{pair['off']['cpus']} CPUs, {pair['off']['cluster']} a cluster"
        rows.append(["SGI broadcast: the sender, call function to all other CPUs, " + where,
                     "-", number(sent_median(pair["off"])), number(sent_median(pair["on"])),
                     kind("instructions"), "an instruction that writes the register costs a "
                     "trap in a guest and a trip to the interrupt controller on a machine, "
                     "which instructions do not show"])
        ones = [r for r in page.of("cost", **{**want, "case": "one"})
                if r["lab"] and all(r[k] == pair["off"][k] for k in ("cpus", "cluster"))]
        targets = sorted({r["target"] for r in ones})
        rows.append(["SGI broadcast: the sender, call function to one CPU "
                     f"(in turn: {', '.join(map(str, targets))})",
                     "-", *(spread(sent_median(r) for r in ones if r["position"] == position)
                            for position in ("off", "on")),
                     kind("instructions"), "to show that it is no slower"])
    else:
        rows.append(["SGI broadcast: instructions of the sender", "-", "-", "-",
                     kind("not measured in this run"), "-"])
    notify = page.of("notify")
    seed = "run time of 100000 calls, polling target: 0.46 of the base " + needs
    rows += notify_summary(notify, seed)
    if not notify:
        rows.append(["notification of a polling idle CPU (x86)", "-", "-", "-",
                     kind("not measured in this run"), seed])
    rows.append(["barrier before an SGI (<code>dsb ishst</code> for <code>wmb()</code>), call-function loop",
                 "-", "one barrier", "one barrier", needs,
                 "126.7&nbsp;ms to 123.5&nbsp;ms for 1000 passes over 96 CPUs (about 2&nbsp;%): "
                 "case loop, on a kernel with and one without the symbol"])
    rows.append(["no <code>dsb sy</code> when ICC_PMR_EL1 is opened", "-", "-", "-", needs,
                 "pseudo-NMIs cost less than 1&nbsp;%"])
    rows.append(["a virtual SGI through the nearest ITS", "-", "-", "-", needs,
                 "IPI latency in a guest 850&nbsp;ns to 750&nbsp;ns (12&nbsp;%); no emulator has a GICv4.1"])
    page.add("<h2>At a glance</h2>",
             "<p>base: the kernel without the series. Switch off: the series, with the behaviour "
             "off. In brackets: the share of the base, or of switch off where there is no base. "
             "A dash is what was not measured.</p>",
             table(["behaviour", "base", "switch off", "switch on", "what this is",
                    "what was reported for the idea"], rows, (1, 2, 3)))


def notify_name(row):
    return f"{row['arch']}, {row['path']}" + (f", tick {row['tick']}" if "tick" in row else "")


def notify_summary(notify, seed):
    out = []
    for name in dict.fromkeys(notify_name(n) for n in notify):
        of = {n["position"]: n for n in notify if notify_name(n) == name}
        if not {"off", "on"} <= of.keys():
            continue
        on = of["on"]
        old = of.get("base", of["off"])["value"]
        out.append([f"notification of an idle CPU: {html.escape(name)}",
                    number(old) if "base" in of else "-",
                    *(f"{number(of[k]['value'])} ({of[k]['value'] / old:.2f})" for k in ("off", "on")),
                    kind(on["unit"]),
                    "an IPI as before, to show what it costs" if on["path"] == "hlt" else seed])
    return out


def detectors(page):
    if any(f.get("detectors") for f in page.of("facts")):
        return " The kernel has lockdep and other detectors, whose instructions are in it."
    return ""


def broadcast_part(page):
    page.add("<h2>SGI broadcast: writes to ICC_SGI1R_EL1</h2>")
    data = series(page, "writes", per_round, case="all_but_self", **BROADCAST)
    if data:
        page.figure(cpus_plot("writes", data, "writes for one IPI", True), "exact count",
                    "Register writes for one IPI to all other CPUs, as QEMU traces them, against "
                    "the number of CPUs. With the switch off there is one for each cluster, with "
                    "it on there is one, if there is more than one cluster. What is counted is "
                    "what was written in every round.")
    else:
        page.missing("register writes. \"make bench\" does it.")
    pair = largest(page, "writes", case="storm_all", **BROADCAST)
    if pair:
        off, on = pair["off"], pair["on"]
        page.add(f"<p>{kind('exact count of this run')} In a storm of calls from all CPUs to all others at once "
                 f"({off['cpus']} CPUs), the whole run took {off['irm'] + off['list']:,} writes with the "
                 f"switch off, and {on['irm'] + on['list']:,} with it on, of which {on['irm']:,} were "
                 "broadcasts: a CPU that has not run its last call yet needs no further IPI, and "
                 "an IPI that leaves one out is not a broadcast. How many that are depends on who "
                 "runs when, so another run has other figures, and the difference between the "
                 "two positions says nothing.</p>")
    page.add("<h2>SGI broadcast: the sender's instructions</h2>")
    data = series(page, "cost", sent_median, case="all_but_self", unit="instructions", **BROADCAST)
    if not data:
        page.missing("instructions of the sender. \"make bench\" does it.")
        return
    page.figure(cpus_plot("cost", data, "instructions, median", False), "instructions",
                "From the call of smp_call_function_many() for all other CPUs to its return, "
                "without waiting, with QEMU's -icount. Most of it is the queueing of the call at "
                "each CPU, which the switch does not change. What a register write costs in time "
                "is not in it." + detectors(page))
    ref = max(r["cpus"] for r in page.of("cost", unit="instructions") if r["lab"])
    rows = [r for r in page.of("cost", unit="instructions", cpus=ref, cluster=16, **BROADCAST) if "sent" in r]
    if rows:
        data = {(case_name(r), r["position"]): sent_median(r) for r in rows}
        page.figure(bars_plot("cases", data, "instructions of the sender, median", "switch "), "instructions",
                    f"All cases whose sender does not wait, {ref} CPUs, 16 a cluster, both "
                    "positions by turns in one boot. The dry run is the cost of the measurement, "
                    "and is in all the others. Self, and one CPU, do not depend on the switch: "
                    "what differs there is the null result.")


def notify_part(page):
    page.add("<h2>Notification of a polling idle CPU (x86)</h2>")
    notify = page.of("notify")
    if not notify:
        page.missing("no line of record \"notify\" was given.")
        return
    data = {(notify_name(n), n["position"]): n["value"] for n in notify}
    unit = notify[0]["unit"]
    page.figure(bars_plot("notify", data, f"{unit} a notification", ""), html.escape(unit),
                "What one notification costs the CPU that idles, from the end of its wait to the "
                "next wait: the median of its rounds. base is the kernel without the series." +
                (" design A on is another way to do it, for comparison: the idle loop ends, as it "
                 "does for a task to run, but the scheduler is called only if there is one."
                 if any(n["position"].startswith("design A") for n in notify) else "") +
                " " + html.escape(notify[0].get("label", "")))


def hardware_part(page):
    """Lines that someone brought from a machine"""
    for nr, facts in enumerate(f for f in page.of("facts") if not f.get("qemu")):
        where = f"{facts['arch']}, {facts['cpus']} CPUs, {facts.get('machine') or 'unknown machine'}"
        page.add(f"<h2>{html.escape(where)}</h2>")
        for sw in dict.fromkeys(r.get("switch") for r in page.of("cost") if r["facts"] is facts):
            data = {(case_name(r), r["position"]): r["done"]["median"]
                    for r in page.of("cost") if r["facts"] is facts and r.get("switch") == sw}
            svg = bars_plot(f"hw{nr}{sw}", data, "ns, median, until all had run the function",
                            "switch ", log=True)
            page.figure(svg, html.escape(facts["time"]), f"Switch {html.escape(sw or 'none')}. "
                        f"{html.escape(facts['release'])}, {html.escape(facts['gic'])}, hypervisor: "
                        f"{html.escape(facts.get('hypervisor') or 'none seen')}.")


def all_rows(page):
    page.add("<h2>All figures</h2>")
    def key(row):
        return tuple(row.get(k) for k in ("lab", "case", "target", "switch", "position", "cpus", "cluster"))

    writes = {key(w): w for w in page.of("writes")}
    for facts in sorted(page.of("facts"), key=lambda f: (not f.get("qemu"), -f.get("cluster", 0), f["cpus"])):
        rows = []
        for r in page.lines:
            if r["record"] != "cost" or r["facts"] is not facts:
                continue
            w = writes.get(key(r))
            cells = [html.escape(case_name(r)), r.get("switch", "-"), r["position"], r["rounds"],
                     (f"{w['irm']:,} + {w['list']:,}" + (" in all" if w["per"] == "run" else "")) if w else "-"]
            for part in ("sent", "done"):
                cells += [f"{r[part][k]:,}" for k in ("min", "median", "p99", "max")] if part in r else ["-"] * 4
            rows.append(cells)
        where = f"{facts['arch']}, {facts['cpus']} CPUs"
        if facts.get("cluster"):
            where += f", {facts['cluster']} a cluster ({facts['qemu_machine']})"
        else:
            where += f", {facts.get('machine') or 'unknown machine'}, {facts['gic']}"
        page.add(f"<details><summary>{html.escape(where)}: {kind(facts['time'])}</summary>")
        page.add(f"<p>{html.escape(facts['release'])}, clock {html.escape(facts.get('clocksource', ''))}, "
                 f"{html.escape(facts.get('accel') or 'hypervisor: ' + (facts.get('hypervisor') or 'none seen'))}. "
                 "Writes: with IRM + with a target list, of a round. sent: until the sender "
                 "went on; done: until the function had run on all CPUs, which with -icount "
                 "counts the instructions of all CPUs.</p>")
        page.add(table(["case", "switch", "position", "rounds", "writes", "sent: min", "median",
                        "p99", "max", "done: min", "median", "p99", "max"], rows, range(3, 13)))
        page.add("</details>")


def provenance(page):
    lab = [f for f in page.of("facts") if f.get("qemu")] + page.of("notify_facts")
    if lab:
        page.add("<h2>Where this comes from</h2>")
    for arch in dict.fromkeys(f["arch"] for f in lab):
        page.add(f"<h3>{html.escape(arch)}</h3>", origin([f for f in lab if f["arch"] == arch]))


def origin(facts):
    rows = []
    for name, key in (("base", "base"), ("kernel", "version"), ("repository", "repository"),
                      ("configuration (SHA-256)", "config_sha256"), ("compiler", "compiler"),
                      ("emulator", "qemu"), ("date", "date")):
        values = list(dict.fromkeys(str(f.get(key, "")) for f in facts))
        if key == "date":
            values = [f"{min(values)} to {max(values)}"] if len(values) > 1 else values
        rows.append([name, html.escape(", ".join(values))])
    for key in dict.fromkeys((f["qemu_machine"], f["accel"]) for f in facts):
        cpus = sorted({int(f["cpus"]) for f in facts if (f["qemu_machine"], f["accel"]) == key})
        rows.append(["boots", html.escape(f"{key[0]}, {key[1]}: {', '.join(map(str, cpus))} CPUs")])
    return table(["", ""], rows)


def report(path, files):
    page = Page(load(files))
    page.add('<p class="lead">What the behaviours of the series cost and save, by '
             '<code>make bench</code>. The lab is QEMU with TCG: counts and instructions are '
             "exact, times mean nothing there, and no hardware was used unless a part below "
             "says so.</p>")
    for line in page.of("missing"):
        page.missing(html.escape(line["what"]) + ".")
    summary(page)
    broadcast_part(page)
    notify_part(page)
    hardware_part(page)
    all_rows(page)
    provenance(page)
    text = ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<title>Cheap inter-processor interrupts: the benchmark</title>"
            f"<style>{STYLE}</style></head><body>"
            "<h1>Cheap inter-processor interrupts: the benchmark</h1>\n"
            + "\n".join(page.body) + "\n</body></html>\n")
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.replace(path + ".new", path)


def main(argv):
    if len(argv) == 3 and argv[1] == "collect":
        collect(argv[2])
    elif len(argv) >= 4 and argv[1] == "report":
        report(argv[2], argv[3:])
    else:
        die("usage: bench.py collect DIR, or report PAGE FILE...")


if __name__ == "__main__":
    main(sys.argv)
