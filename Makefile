# Every target is one line that can be typed by hand. `make` prints this help.

SHELL := /bin/bash
export CGO_ENABLED ?= 0
export ROGITO_TEST_ALL ?= 1
export GOFLAGS ?= -mod=readonly -buildvcs=false
# The tag, where this is one; else the release to come (internal/version) and the commit.
VERSION ?= $(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null | sed 's/^v//' | grep . || echo "$$(sed -n 's/^var Number = "\(.*\)"/\1/p' internal/version/version.go)+$$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)")
LDFLAGS := -s -w -X rogito.dev/rogito/internal/version.Number=$(VERSION)
TAGGED := rogito:$(shell sed -n 's/^var Number = "\(.*\)"/\1/p' internal/version/version.go)
LINT := go tool -modfile=tools/lint/go.mod

.DEFAULT_GOAL := help
.PHONY: help run build release reproducible image container chart packages test token race check lint fmt bench soak drain storm vulnerable browser interop identify csc openapi clients peers corpus wild fuzz docs clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 22

build: ## the binary, in bin/rogito
	go build -ldflags '$(LDFLAGS)' -o bin/rogito ./cmd/rogito

# MINISIGN_KEY=FILE (and MINISIGN_PASSWORD) signs; RELEASE=1.2.3 overrides the version of the changelog;
# PLATFORM=linux/amd64 builds for one platform only, to try.
release: ## archives, deb, rpm, bill of materials and checksums in dist/: the same bytes from every machine
	go run -C tools/release -mod=readonly . -root $(CURDIR) $(if $(RELEASE),-version $(RELEASE)) $(if $(PLATFORM),-only $(PLATFORM))

reproducible: ## the release twice, in two folders: equal
	.ci/reproducible $(PLATFORM)

# IMAGE names it, else rogito and the release (rogito:0.1.0-dev); BUILDER='podman build' or 'docker build' build it as well.
image: ## the container image, by buildah
	rm -rf build/image && mkdir -p build/image && install -d -m 700 build/image/data
	go build -trimpath -ldflags '$(LDFLAGS)' -o build/image/rogito ./cmd/rogito
	cp $(or $(CA),/etc/ssl/certs/ca-certificates.crt) build/image/ca-certificates.crt
	$(or $(BUILDER),buildah build --format docker) -f deploy/Containerfile -t $(or $(IMAGE),$(TAGGED)) build/image

# As root, with buildah and runc; no daemon is needed.
container: image ## tries the image: read-only, as its user, its health check, a signature
	.ci/container $(or $(IMAGE),$(TAGGED))

chart: ## the Helm chart, checked and packed, in build/
	go test -C tools/chart -count=1 .
	mkdir -p build && go run -C tools/chart -mod=readonly . $(CURDIR)/deploy/chart $(CURDIR)/build

# Where it is root and has mmdebstrap, it installs, upgrades and purges the package in a fresh Debian.
packages: release ## tries the packages of dist/
	.ci/packages dist

run: build ## the server on 127.0.0.1:8080 with ./data
	bin/rogito serve --listen 127.0.0.1:8080 --data ./data

# One package more than processors at once: some wait for a browser, or for processes that they kill.
test: ## every test; PostgreSQL and the S3 server are found or started
	.ci/need postgres pgbouncer
	-.ci/need tests # what cannot be had is skipped, and said to be
	go test -timeout 25m -p $$(($$(getconf _NPROCESSORS_ONLN) + 1)) -parallel 8 $(TESTFLAGS) ./...

token: ## the tests with a PKCS#11 token (SoftHSM), which need cgo
	.ci/need softhsm2-util gcc
	CGO_ENABLED=1 go test -tags pkcs11 ./internal/hsm/...
	CGO_ENABLED=1 go test -tags pkcs11 -run 'PKCS11|TestToken' ./server/internal/keys ./server/internal/master
	CGO_ENABLED=1 go test -tags pkcs11 -run PKCS11 ./server/faults

race: ## the tests of what runs in parallel, under the race detector
	CGO_ENABLED=1 go test -race -timeout 20m ./server/... ./omi/... ./trust/...

check: lint test token ## what CI runs

lint: ## gofumpt, and golangci-lint with vet
	@test -z "$$($(LINT) gofumpt -l $$(git ls-files '*.go'))" || { $(LINT) gofumpt -l $$(git ls-files '*.go'); echo 'run: make fmt'; exit 1; }
	$(LINT) golangci-lint run ./...

fmt: ## format every file
	$(LINT) gofumpt -w $$(git ls-files '*.go')

bench: ## rates beside a yardstick, in one run
	.ci/need postgres wrk
	go run ./test/bench $(BENCHFLAGS)

# Where it is root and has loop devices, it also cuts the power.
soak: ## long faults, half an hour: kill -9 two hundred times under load on each engine, power cuts, outages, backlogs
	.ci/need postgres
	set -o pipefail; ROGITO_TEST_SOAK=1 go test -count=1 -p 1 -timeout 90m -v \
		-run 'Kill|PowerCut|Backlog|Poison|TwoWorkers|DatabaseGoesAway|SlowReceivers' ./server/... \
		| grep -v -e '^=== ' -e 'no test files' -e 'no tests to run'
	ROGITO_TEST_SOAK=1 go test -timeout 60m -v -run 'TenantSweep|IdleConnections|SlowLoris|RapidReset|Reproducible' . ./server/abuse ./server/internal/account

drain: ## twenty times: four processes empty a line of 20,000, and four servers sign 20,000 records that wait: an hour
	.ci/need postgres
	ROGITO_TEST_DRAIN=20 go test -count=1 -p 1 -timeout 180m -v -run '^Test(FourProcesses|Servers)Drain$$' ./server/internal/job ./server/blackbox

# As root it also fills a disk.
storm: ## three servers on PostgreSQL with a standby and a bucket, while all of them fail in turn: ten minutes
	.ci/need postgres
	ROGITO_TEST_STORM=1 go test -count=1 -timeout 40m -v -run '^TestStorm$$' ./server/blackbox

vulnerable: ## known faults of what we stand on (asks vuln.go.dev)
	go mod verify
	go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

browser: ## the pages in a real Chromium; ROGITO_TEST_SCREENSHOTS=DIR keeps pictures
	.ci/need chromium npm
	ROGITO_BROWSER=1 go test -count=1 -timeout 20m -v ./test/browser

interop: ## other implementations read ours, we read theirs
	.ci/need qpdf pdfsig xmlsec1 xmllint openssl gs soffice
	ROGITO_INTEROP=1 ROGITO_INTEROP_TABLE=$(CURDIR)/docs/interop.md go test -count=1 -timeout 30m -v ./test/interop/...

identify: ## SPID and CIE against counterparts that others wrote, installed from PyPI
	.ci/need xmlsec1 openssl python3
	ROGITO_IDENTIFY=1 go test -count=1 -p 1 -timeout 30m -v -run Counterpart ./server/internal/identify/...

# CSC=all tries every format with every key and version; ROGITO_CSC_KILLS=50 kills fifty times.
csc: ## remote keys: our client against a provider of the tests, our server against pyHanko (PyPI) and the EU's library (Maven)
	.ci/need python3
	ROGITO_CSC=$(or $(CSC),1) go test -count=1 -timeout 90m -v -bench Thousand -benchtime 1x ./test/csc/...

openapi: ## the OpenAPI document: Spectral and Redocly (npm) have nothing to say
	.ci/need npm
	ROGITO_KITS=1 go test -count=1 -timeout 10m -v -run TestDocument ./test/clients

clients: ## the clients of Go, TypeScript and Python, five generators (npm, PyPI, Go, Maven) and docs/requests.http, against the binary
	.ci/need npm python3
	ROGITO_KITS=1 go test -count=1 -timeout 15m -v -skip TestDocument ./test/clients

peers: identify csc openapi clients ## what others wrote: counterparts of SPID and CIE, CSC clients and providers, generators

corpus: ## verdicts over the given corpus (../shared or ROGITO_SHARED)
	go test -timeout 60m -run Corpus -v ./...

# ROGITO_WILD names a folder of real PDFs.
wild: ## real PDFs: signed here and by pyHanko (PyPI), verified here, by pyHanko and by poppler
	.ci/need pdfinfo pdfsig pdftotext python3
	go test -count=1 -timeout 120m -v -run TestWild ./test/wild

fuzz: ## a minute for each fuzz target
	.ci/fuzz $(or $(FUZZTIME),60s)

docs: ## write anew what is generated
	go test ./server/internal/fault ./internal/finding -update
	go test ./server -run TestSettingsDocument -update
	go test . -run TestSurface -update

clean: ## remove what was built; the data folder stays
	rm -rf bin dist build
