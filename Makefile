# The verbs of Campanile. Each does all of its own set-up on a machine that has Rust.
#
#   make demo     three nodes on this machine, sample schedules, a receiver that prints what arrives; Ctrl-C ends it
#   make check    format, lints, docs, licences; changes no file of the tree
#   make fix      what `check` can mend by itself
#   make test     check, then every test with the fixed share of faults; says where the time went
#   make bench    the figures, from a release build of three real processes; also in target/bench.json
#   make sim      200 worlds of bad luck from their seeds; SEED=7 plays one of them, TRACE=1 with what happened
#   make same     ten worlds by a debug and by a release build: the same, bit for bit
#   make quiet    60 days of three nodes and 1,000 schedules without bad luck, in minutes
#   make model    the pure machine fed in random cuts, RUNS seeds of it
#   make mutants  bugs put back one at a time: the simulation must catch each within 200 seeds
#   make faults   the log and deliveries under KILLS kills, the log under CUTS power cuts; those need root and loop devices

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo check fix test bench sim same quiet model mutants faults audit tools

# One share for everybody, so that two runs of `make test` mean the same. `make faults` and `make sim` are the long ones.
KILLS ?= 200
CUTS  ?= 30
RUNS  ?= 2000
# One world when one is named.
SEEDS ?= $(if $(SEED),1,200)
# The names of campanile_core::mutant, in its order. MUTANTS="a b" runs these two.
MUTANTS ?= no-duplicate-refusal no-epoch-check mark-before-commit acknowledged-before-sync local-clock-in-apply hash-order-in-apply leader-restore settle-without-fencing image-without-rows keys-forgotten-at-failover retry-wait-in-memory

# Cargo.lock is part of the tree: no verb but `fix` may change it.
CARGO := cargo
TIMES := target/times.txt

# $(call timed,what,command): runs a command and notes how long it took.
timed = @mkdir -p target; SECONDS=0; echo "== $(1)"; $(2); \
	printf '%6d s  %s\n' "$$SECONDS" "$(1)" >> $(TIMES)

help:
	@sed -n '3,/^$$/s/^# *//p' Makefile

demo:
	@echo "Building Campanile (some minutes the first time) ..."
	@$(CARGO) build --release --locked -p campanile --bin campanile
	@$(CARGO) run --release --locked --quiet -p campanile --bin campanile -- demo

check: tools
	@mkdir -p target; : > $(TIMES)
	$(call timed,format,$(CARGO) fmt --all --check)
	$(call timed,lints,$(CARGO) clippy --workspace --all-targets --locked -- -D warnings)
	$(call timed,docs,RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --quiet)
	$(call timed,licences and bans,if $(CARGO) deny --version >/dev/null 2>&1; \
		then $(CARGO) deny --locked check bans licenses sources; \
		else echo "cargo-deny is not installed: licences and bans are NOT checked (cargo install cargo-deny --locked)"; fi)

fix: tools
	$(CARGO) clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	$(CARGO) fmt --all

# The log goes to a file as well: cargo prints one line of time for each test binary, and the slowest are named below.
test: check
	$(call timed,building the tests,$(CARGO) test --workspace --no-run --locked)
	$(call timed,tests,$(CARGO) test --workspace --locked 2>&1 | tee target/test.log)
	@echo; echo "Where the time went:"; cat $(TIMES)
	@echo "The slowest test binaries:"
	@awk '/^ *(Running|Doc-tests) /{name=$$2=="unittests" ? $$3 " " $$4 : $$2; if ($$1=="Doc-tests") name="docs of " $$2} \
		/^test result: .*finished in /{sub(/s$$/, "", $$NF); printf "%8.1f s  %s\n", $$NF, name}' target/test.log \
		| sort -rn | head -10

bench:
	@echo "Building the release binaries (some minutes the first time) ..."
	@$(CARGO) build --release --locked -p campanile --bin campanile
	@$(CARGO) build --release --locked -p campanile-cluster-tests --no-default-features --bin bench
	target/release/bench

# The simulation, built for speed, of a program that reads one format level more, so that a version before it can take part.
# `FORMATS=` plays what ships, as the tests do.
FORMATS ?= --features formats
SIM := -p campanile-cluster-tests $(FORMATS) --bin sim

SAME := -p campanile-cluster-tests --test sim bit_for_bit -- --nocapture

# Whole nodes: consensus, network, disk and clock under one seed (docs/simulation.md). MINUTES, THREADS, KINDS, PLAN and more: see
# cluster-tests/src/bin/sim.rs.
sim:
	@echo "Building the simulation (some minutes the first time) ..."
	@$(CARGO) build --release --locked $(SIM)
	@SEEDS=$(SEEDS) $(CARGO) run --release --locked --quiet $(SIM)

# The same seed is the same world, whatever the build; each build also plays each seed twice.
same:
	@mkdir -p target
	@$(CARGO) test --locked --quiet $(SAME) > target/same-debug.txt
	@$(CARGO) test --locked --quiet --release $(SAME) > target/same-release.txt
	@diff <(grep ^seed target/same-debug.txt) <(grep ^seed target/same-release.txt)
	@grep ^seed target/same-release.txt; echo "the same in debug and in release"

# DAYS and SCHEDULES may be said.
quiet:
	@$(CARGO) build --release --locked $(SIM)
	@QUIET=1 $(CARGO) run --release --locked --quiet $(SIM)

# Replicas of the machine in one thread, fed from one log in random cuts, compared bit by bit.
model:
	SEEDS=$(RUNS) $(CARGO) test --release --locked -p campanile-core --test model -- --nocapture

# A run that finds something ends with 1, which is what is wanted here; it names seed and property. One that finds nothing
# is a hole in the simulation. Anything else, a name that is none for one, is a failure of the run. Never of what ships.
mutants:
	@$(CARGO) build --release --locked $(SIM) --features mutants
	@missed=""; for mutant in $(MUTANTS); do \
		echo "== $$mutant"; status=0; \
		MUTANT=$$mutant SEEDS=200 $(CARGO) run --release --locked --quiet $(SIM) --features mutants \
			|| status=$$?; \
		case $$status in 0) missed="$$missed $$mutant";; 1) ;; *) exit $$status;; esac; \
	done; \
	if [ -n "$$missed" ]; then echo "not caught within 200 seeds:$$missed"; exit 1; fi; echo "all of them were caught"

faults:
	KILLS=$(KILLS) CUTS=$(CUTS) $(CARGO) test --locked -p campanile-storage --test log_faults -- --nocapture
	KILLS=$(KILLS) $(CARGO) test --locked -p campanile-cluster-tests --test at_most_once -- --nocapture

# Known vulnerabilities; apart from `check` because it fetches the advisory database.
audit:
	$(CARGO) deny --locked check advisories

tools:
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy
