# SPDX-License-Identifier: GPL-2.0
# Walks every path through gic_ipi_send_mask() in the output of objdump -d and
# checks the order of barriers and of writes to ICC_SGI1R_EL1 (arm64 and arm):
# one barrier (-v barrier="dsb ishst"), then the writes, then an isb, then the
# return; no other barrier. Prints what is wrong; status 1 if anything is.
# A call to a function of the object that writes the register is a write.

function wrong(text) {
	if (!(text in said))
		print text
	said[text] = 1
	bad = 1
}

/^[0-9a-f]+ <.*>:$/ {
	fn = $2
	gsub(/[<>:]/, "", fn)
	next
}

fn != "" && /^ *[0-9a-f]+:\t/ {
	split($0, part, "\t")
	addr = part[1]
	gsub(/[ :]/, "", addr)
	text = part[2] " " part[3]
	sub(/[ \t]*(\/\/|@|;).*/, "", text)
	gsub(/[ \t]+/, " ", text)
	i = ++count[fn]
	insn[fn, i] = text
	index_of[fn, addr] = i
	if (text ~ /^msr (icc_sgi1r_el1|s3_0_c12_c11_5),/ || text ~ /^mcrr 15, 0, .*, cr12$/)
		writes[fn] = 1
	if (text ~ /^(dsb|dmb|isb)/ || text ~ /^mcr 15, 0, .*, cr7, cr(5|10), /)
		barriers[fn] = 1
}

function push(i, dsb, dirty, isb) {
	if (i > count[F])
		wrong("falls off the end of " F)
	else if (!((i, dsb, dirty, isb) in seen)) {
		seen[i, dsb, dirty, isb] = 1
		todo[++top] = i " " dsb " " dirty " " isb
	}
}

# the index of the target of a branch within F, 0 if it leaves F
function target(text,    word, n) {
	n = split(text, word, /[ ,]+/)
	for (; n > 1; n--)
		if (word[n] ~ /^(0x)?[0-9a-f]+$/ && (F, word[n]) in index_of)
			return index_of[F, word[n]]
	return 0
}

function callee(text) {
	if (!match(text, /<[^>+]+/))
		return ""
	return substr(text, RSTART + 1, RLENGTH - 1)
}

END {
	F = "gic_ipi_send_mask"
	if (!count[F]) {
		print F " is not in the object"
		exit 1
	}
	push(1, 0, 0, 0)
	while (top) {
		split(todo[top--], state, " ")
		i = state[1] + 0; dsb = state[2] + 0; dirty = state[3] + 0; isb = state[4] + 0
		text = insn[F, i]
		op = text
		sub(/ .*/, "", op)
		sub(/\.w$/, "", op)
		write = text ~ /^msr (icc_sgi1r_el1|s3_0_c12_c11_5),/ || text ~ /^mcrr 15, 0, .*, cr12$/
		to = ""

		if (op ~ /^bl/ && op !~ /^bl[est]$/) {
			to = callee(text)
			if (to != F && to in writes) {
				write = 1
				if (to in barriers)
					wrong("a barrier in " to)
			}
		}
		if (write) {
			sites++
			if (!dsb)
				wrong("a write before the barrier: " text)
			if (isb)
				wrong("a write after the isb: " text)
			dirty = 1
		}
		if (text ~ "^" barrier "$") {
			if (dsb)
				wrong("more than one barrier")
			dsb = 1
		} else if (op ~ /^isb/) {
			isb = 1
			dirty = 0
		} else if (op ~ /^(dsb|dmb)/)
			wrong("another barrier: " text)

		if (op == "ret" || text ~ /^(bx lr|pop .*pc|ldm.*pc|ldr pc|mov pc, lr)/) {
			if (dirty)
				wrong("a return without an isb after the write")
			else if (dsb && !isb)
				wrong("a return without an isb")
			returns++
			continue
		}
		if (op == "brk" || op == "udf")
			continue
		if (op == "b") {
			to = target(text)
			if (to)
				push(to, dsb, dirty, isb)
			else if (dsb)
				wrong("a tail call after the barrier: " text)
			continue
		}
		if (op ~ /^(b\.|cb|tb)/ || (op ~ /^b(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)$/)) {
			to = target(text)
			if (to)
				push(to, dsb, dirty, isb)
			else
				wrong("a branch out of the function: " text)
		} else if (op ~ /^(ldm|pop).*(eq|ne|cs|cc|hi|ls|ge|lt|gt|le)$/ && text ~ /pc/) {
			if (dirty)
				wrong("a return without an isb after the write")
		}
		push(i + 1, dsb, dirty, isb)
	}
	if (!sites)
		wrong("no write to ICC_SGI1R_EL1 found")
	if (!returns)
		wrong("no return found")
	exit bad
}
