# Each target is one command that works right after a clone.

CLIENT ?= clients/outbox-worker/client.toml
TOXIPROXY_VERSION ?= v2.12.0

.PHONY: dist chaos clients soak defects table explored test test-real mutants bench bench-explore instructions lint sdks

# The standard suite against a client: make chaos CLIENT=path/to/client.toml ARGS="--jobs 2"
chaos:
	@cargo build --workspace --bins
	@target/debug/chaos-runner run --client $(CLIENT) $(ARGS)

# The honest clients in other languages, each through the suite: make clients CLIENTS="go java"
clients:
	scripts/postgres.sh scripts/clients.sh $(CLIENTS)

# Run after run on a loaded machine: the reference client a hundred times, each other one ten times.
soak:
	@cargo build --workspace --bins
	python3 scripts/soak.py 100 --busy --verdicts -- target/debug/chaos-runner run --client $(CLIENT)
	SOAK=10 scripts/postgres.sh scripts/clients.sh $(CLIENTS)

# Is every defect of clients/defective found by its own name? The scenarios of each row of
# docs/defects.md, compared with what is on record; and the whole suite for each, which writes it.
defects:
	@cargo build --workspace --bins
	python3 clients/defective/table.py page --check
	python3 clients/defective/table.py rows

# Does an exploration alone find every defect that faults can provoke, by a smallest script?
explored:
	@cargo build --workspace --bins
	python3 clients/defective/explored.py page --check
	python3 clients/defective/explored.py run

table:
	@cargo build --workspace --bins
	python3 clients/defective/table.py whole

# What one call of each official SDK does when the network fails: installs the versions on record
# (from PyPI and npm), measures, writes docs/sdks.md. SDKS="python/stripe node/telnyx" for some.
sdks:
	@cargo build --workspace --bins
	clients/sdks/install.sh
	target/sdks/venv/bin/python clients/sdks/measure.py run $(SDKS)

test:
	cargo test --workspace

# Real parts: a PostgreSQL server and a Toxiproxy server, installed where they are missing.
test-real:
	scripts/postgres.sh scripts/toxiproxy.sh $(TOXIPROXY_VERSION) scripts/test-real.sh

# Is there a test that fails when a check is wrong? Each small change to what judges, one at a time,
# without the slow simulations: what survives is in target/mutants.out/missed.txt. A part:
# make mutants ARGS="--shard 0/8", or ARGS="--re checks/receipts".
mutants:
	@cargo mutants --version >/dev/null 2>&1 || cargo install cargo-mutants --locked
	cargo mutants --package chaos-judge --profile mutants --output target $(ARGS) -- --lib -- --skip simulation

# What is promised of speed, beside a bare server and what one would pick instead; installs what it
# compares with, writes docs/benchmarks.md. SECTIONS="provider proxy" for a part.
bench:
	python3 bench/bench.py $(SECTIONS)

# How many instructions each hot path takes, against the record: a busy machine changes nothing in it.
# After a change that is meant to cost, or to gain: make instructions ARGS=--update
instructions:
	bench/instructions.py $(ARGS)

# What an exploration costs against its depth; writes docs/explore-cost.md.
bench-explore:
	cargo build --release --workspace --bins
	python3 bench/explore.py

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

# What is given away, into target/dist: a tarball, a Debian package and a wheel. OpenSSL is in them.
dist:
	scripts/dist.sh
