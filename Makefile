# What there is to do with stet. Needs Go and a C compiler (for the race
# detector); "make test" also needs Node, npm, tmux,
# chromium and PostgreSQL, for real agents, SDKs, a terminal, a browser and a database.

GO          ?= go
SUITES      ?= agents web mcp chat clients acp
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC       ?= github.com/securego/gosec/v2/cmd/gosec@v2.30.0
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.9.0
GORELEASER  ?= github.com/goreleaser/goreleaser/v2@v2.16.0
APIDIFF     ?= golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
GOFILES      = $(shell find . -name '*.go' -not -path '*/node_modules/*')
# The tests that need Go alone. The longest run first, so that they do not run alone at the end.
LONGEST      = ./test/hazards ./cmd/stet ./files/workspace ./server/proxy ./trim/replay
UNIT         = $(LONGEST) $$($(GO) list ./... | grep -v -E '/test/(e2e|mcp|acp|chat|clients|web|hazards)$$|stet/(cmd/stet|files/workspace|server/proxy|trim/replay)$$')

.PHONY: run cluster build test unit sdk e2e agents mcp acp chat clients web ui check lint loc site map audit api release release-files tools fmt bench soak clean

run: build ## build it, see it work, and look around on its page; FOR=5s ends it by itself
	./bin/stet demo
	./bin/stet serve --demo $(if $(FOR),--for $(FOR))

cluster: build ## three servers that are one gateway, on this machine; STORE=postgres://… for one database
	test/cluster.sh bin/stet $(STORE)

build:
	CGO_ENABLED=0 $(GO) build -o bin/stet ./cmd/stet

# Two suites run beside each other, since most of them wait for a part of their time. The longest come first.
test: ## every test
	@$(MAKE) --no-print-directory -j2 $(filter agents,$(SUITES)) unit $(filter-out agents,$(SUITES)) sdk

unit:
	$(GO) test -timeout 20m $(UNIT)

sdk: ## Go SDKs as real clients and peers to compare with, in modules of their own
	cd test/sdk/go && $(GO) test ./...
	cd test/deploy && $(GO) test ./...
	cd bench && $(GO) test ./...

e2e: $(SUITES) ## what comes from npm

agents: ## real agents and npm SDKs, without a network; ALL=1 compares the requests of all agents, at npm's newest too, and asks in all terminals
	$(if $(ALL),STET_AGENTS=all $(GO) test -timeout 60m -count=1 -v -run "TestDoctor|TestConnect|TestAsk|TestGuard|TestSurprises|TestLiveDay|TestColdCache" ./test/e2e,$(GO) test -timeout 40m ./test/e2e)

mcp: ## MCP clients and the conformance suite
	$(GO) test -timeout 20m ./test/mcp

acp: ## ACP clients over the real binary
	$(GO) test -timeout 20m ./test/acp

chat: ## the chat in a real terminal
	$(GO) test -timeout 20m ./test/chat

clients: ## the TypeScript client against the gateway
	$(GO) test -timeout 20m ./test/clients

web: ## the web UI in a browser
	$(GO) test -timeout 20m ./test/web

ui: ## build the web UI that the binary carries; server/web/dist has it already
	npm --prefix server/web/ui ci --no-audit --no-fund
	npm --prefix server/web/ui run build

check: lint ## formatting, vet, staticcheck, and the tests under the race detector
	$(GO) test -race $(UNIT)

lint:
	@out=$$(gofmt -l $(GOFILES)); if [ -n "$$out" ]; then echo "not formatted:"; echo "$$out"; exit 1; fi
	$(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	cd bench && $(GO) vet ./...
	cd test/deploy && $(GO) vet ./...
	cd release && $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

# Test suites: packages that only tests import. The scripted model (llm/llmtest) is not one of them: "stet demo" runs on it.
SUITEDIRS = internal.archtest|test.*

loc: ## lines of Go for each package, without tests, without the module bench; test suites are counted apart
	@git ls-files '*.go' | grep -v -e '_test\.go$$' -e '^bench/' -e '/testdata/' | xargs wc -l | awk '$$2 != "total" { \
	  d = $$2; sub(/\/[^\/]*$$/, "", d); n[d] += $$1; if (d ~ /^($(SUITEDIRS))$$/) suites += $$1; else product += $$1 } \
	  END { for (d in n) printf "%7d %s\n", n[d], d; printf "%7d product\n%7d test suites\n%7d all\n", product, suites, product + suites }' | sort -rn

site: build ## the documentation as a static site, in bin/site; needs Python and the internet once
	python3 -m venv bin/site-venv
	bin/site-venv/bin/pip install --quiet --requirement site/requirements.txt
	bin/site-venv/bin/mkdocs build --quiet --strict

map: ## which test proves which requirement (docs/requirements.md); fails where none does
	@$(GO) test -count=1 ./internal/archtest -run 'TestRequirements$$' -v | sed -n 's/^    requirements_test.go:[0-9]*: //p'
	@$(GO) test ./internal/archtest -run 'TestRequirements$$' >/dev/null

# What gosec reports and is right here, everywhere:
# G103 unsafe     texts are read without a copy, in rawjson and server/gateway/remote.go
# G115 overflow   sizes and positions in texts that are limited to less than 2 GB; hashes; sequences in SQLite
# G204 commands   the programs that a person names: wrap, an MCP server, $EDITOR
# G304, G703 paths  the files that a person names, and stet's own; agents' paths go through os.Root in workspace
# G404 random     waits between attempts; secrets are of crypto/rand
# and in one place:
# G101 a prefix that is no secret; G104 a hash, whose writes never fail; G202 the name of a table, from a list here;
# G301 agents' configurations in projects, and the directory of services, which others may read; G302 a directory, which needs its x;
# G401, G505 the names that git gives to contents; G407 a key that encrypts one text alone; G602 lists of one length;
# G704 the service's own address; G705 JSON, which no browser takes for a page; G710 addresses of the configuration.
# What only tests and releases use is left out.
audit: ## known vulnerabilities, and gosec; it says what it could not look at
	@if $(GO) run $(GOSEC) -version >/dev/null 2>&1; then \
	  $(GO) run $(GOSEC) -quiet -exclude-dir=test -exclude-dir=bench -exclude-dir=release -exclude=G103,G115,G204,G304,G404,G703 \
	    -exclude-rules='server/gateway/http.go:G101;cmd/stet/internal/agents/replace.go:G301;cmd/stet/internal/socket/socket.go:G302;llm/openai/usage.go:G602;server/gateway/http.go:G705;trim/replay/send.go:G104;server/proxy/sent/seal.go:G407;cmd/stet/guard_seen.go:G704;files/snapshot/git.go:G401,G505;trim/transcript/opencodestore.go:G202;cmd/stet/internal/site/signin.go:G710;cmd/stet/internal/process/service.go:G301' ./... \
	    && echo "audit: gosec found nothing"; \
	else echo "audit: gosec was skipped: $(GOSEC) cannot be had"; fi
	@if out=$$($(GO) run $(GOVULNCHECK) ./... 2>&1); then echo "audit: govulncheck found nothing"; \
	elif echo "$$out" | grep -q 'exit status 3'; then echo "$$out"; exit 1; \
	else echo "audit: govulncheck was skipped: $$(echo "$$out" | grep -v '^exit status' | tail -1)"; fi

api: ## what changed in the library since a commit, SINCE=v0.1.0; what is not compatible has a line in the CHANGELOG
	rm -rf bin/api && mkdir -p bin/api/old
	git archive $(SINCE) | tar -x -C bin/api/old
	cd bin/api/old && $(GO) run $(APIDIFF) -m -w ../old.export github.com/stet-dev/stet
	$(GO) run $(APIDIFF) -m bin/api/old.export github.com/stet-dev/stet

# The commit is told from here: GoReleaser knows none in a clone without a remote.
STAMPS = STET_COMMIT=$$(git rev-parse HEAD) STET_TIME=$$(git log -1 --format=%ct) \
	STET_DATE=$$(TZ=UTC0 git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)

release: ## a release into dist; SNAPSHOT=1 publishes nothing
	$(STAMPS) $(GO) run $(GORELEASER) release --clean --timeout 3h $(if $(SNAPSHOT),--snapshot)
	cd release && $(GO) run . packages ../dist

release-files: ## what packages hold beside the program, into bin/release
	rm -rf bin/release && mkdir -p bin/release/completions
	cd release && $(GO) run . licences ../bin/release/THIRD_PARTY_LICENSES
	$(GO) build -ldflags "$(if $(VERSION),-X main.release=$(VERSION)) -X main.commit=$$(git rev-parse HEAD) -X main.date=$$(TZ=UTC0 git log -1 --date=short-local --format=%cd)" -o bin/release/stet ./cmd/stet
	for shell in bash zsh fish; do bin/release/stet completion $$shell >bin/release/completions/stet.$$shell; done

tools: ## download what lint runs
	$(GO) run $(STATICCHECK) -version

fmt:
	gofmt -w $(GOFILES)

bench: ## benchmarks, and stet beside other programs: PEERS=DIR of bench/peers.sh and SESSIONS=PATH measure more
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd bench && $(GO) run . $(if $(PEERS),-peers $(abspath $(PEERS))) $(if $(SESSIONS),-sessions $(abspath $(SESSIONS))) && $(GO) test -run '^$$' -bench . -benchmem ./tokens

soak: ## more of what is random: races, kills, two agents, properties over 10,000 histories, and fuzzing for a while each
	STET_SOAK=1 $(GO) test -count=1 -timeout 90m ./test/hazards
	$(GO) test -timeout 60m ./trim ./trim/replay -rapid.checks=10000
	STET_SOAK=1 $(GO) test -timeout 60m -run TestExactness ./llm/tokens/bpe
	STET_SOAK=1 $(GO) test -timeout 60m -run TestLikeRipgrep ./files/filetools
	STET_SOAK=1 STET_MERGES=20000 $(GO) test -timeout 60m ./files/workspace ./internal/merge3
	STET_SOAK=1 $(GO) test -count=1 -timeout 60m ./store/sqlite
	$(GO) test -timeout 60m ./session -rapid.checks=10000
	STET_SOAK=1 $(GO) test -count=1 -timeout 60m ./server/proxy ./test/agent
	STET_SOAK=1 $(GO) test -count=1 -timeout 60m -run TestLoad -v ./server/gateway
	STET_SOAK=1 $(GO) test -count=1 -timeout 20m -run TestLongApproval -v ./test/mcp
	STET_SOAK=1 $(GO) test -count=1 -timeout 60m -run "TestAgents|TestAsk|TestGuard|TestSurprises" ./test/e2e
	STET_SOAK=1 $(GO) test -count=1 -timeout 60m ./files/snapshot
	STET_SOAK=1 $(GO) test -count=1 -timeout 90m -run TestKills ./test/e2e
	STET_SOAK=1 $(GO) test -count=1 -timeout 90m -v ./test/faults
	STET_FAULTS_CLOCKS=1 STET_FAULTS_RUNS=10 $(GO) test -count=1 -timeout 60m -run 'TestFaults|TestRolling' -v ./test/faults
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p 2>/dev/null | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-30s} $$p || exit 1; \
	  done; \
	done

clean:
	rm -rf bin
