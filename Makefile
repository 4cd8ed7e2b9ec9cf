# Tools run in pinned versions through `go run`, so that a program that embeds Troupe inherits none of them.
BUF           := go run github.com/bufbuild/buf/cmd/buf@v1.75.0
GOLANGCI_LINT := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GINKGO        := go run github.com/onsi/ginkgo/v2/ginkgo
GINKGO_FLAGS  := -r --race --randomize-all --fail-on-pending --fail-on-empty --keep-going --succinct --silence-skips --skip-package=specs/apache,specs/peers

BENCH      ?= .
ROUNDS     ?= 3
FUZZTIME   ?= 30s

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 16

.PHONY: run
run: ## the demo: embedded broker, two members, retries, a rebalance, the living tree
	go run ./adapters/cli/troupe demo

.PHONY: test
test: ## fast suite with race detector and leak checks (Go alone)
	$(GINKGO) $(GINKGO_FLAGS) --label-filter='!slow && !apache' ./...

.PHONY: test-slow
test-slow: ## everything that needs Go alone, also long seeds
	$(GINKGO) $(GINKGO_FLAGS) --label-filter='!apache' ./...

.PHONY: test-apache
test-apache: ## the conformance suite on real Apache brokers (JDK 11+ and Maven)
	@command -v java >/dev/null || { echo "make test-apache needs a JDK 11 or newer: 'java' is not on the PATH" >&2; exit 1; }
	@command -v javac >/dev/null || { echo "make test-apache needs a JDK, not only a JRE: 'javac' is not on the PATH" >&2; exit 1; }
	@command -v mvn >/dev/null || { echo "make test-apache needs Maven: 'mvn' is not on the PATH" >&2; exit 1; }
	$(GINKGO) -r --race --fail-on-pending --fail-on-empty --keep-going --timeout=40m --poll-progress-after=120s ./specs/apache

.PHONY: bench
bench: ## ns/op and allocs/op of kernel, decoding, process queue, dispatch
	go test -run='^$$' -bench='$(BENCH)' -benchmem ./actors/... ./adapters/wire/... ./adapters/remoting/...

.PHONY: bench-peers
bench-peers: ## troupe beside rocketmq-client-go, the Java client and a raw loop, on one real broker
	cd specs/peers && go run . --rounds $(ROUNDS)

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (default 30s)
	@for pkg in $$(go list ./...); do \
		for target in $$(go test -list='^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; go test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

.PHONY: lint
lint: ## golangci-lint, buf lint, go vet for all platforms
	$(GOLANGCI_LINT) run ./...
	$(BUF) lint
	@for os in linux darwin windows; do echo "GOOS=$$os go vet ./..."; GOOS=$$os go vet ./... || exit 1; done

.PHONY: generate
generate: ## regenerate messages/, tables and diagrams
	$(BUF) generate
	go generate ./...

.PHONY: verify
verify: generate ## regenerate and fail on a difference
	go mod tidy -diff
	git diff --exit-code

.PHONY: build
build: ## bin/troupe, and a check that linux, darwin and windows compile
	go build -o bin/troupe ./adapters/cli/troupe
	@for os in linux darwin windows; do echo "GOOS=$$os go build ./..."; GOOS=$$os go build ./... || exit 1; done
