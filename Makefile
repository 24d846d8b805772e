# Everything a newcomer needs: `make up`, and `make test`.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help up demo selftest certify test lint fmt bench bench-full docs lock clean

help: ## say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

up: $(VENV)/installed ## start everything, until Ctrl-C (PORT=8000, DATA_DIR=var)
	@exec $(PY) -m deploy.up

demo: $(VENV)/installed ## tell the whole story on the running instance, or on one of its own
	@exec $(PY) -m deploy.demo

selftest: $(VENV)/installed ## ask the configured judge about labelled pairs: may it act? (JUDGE=rules)
	@exec $(PY) -m deploy.here judge_selftest $(ARGS)

certify: $(VENV)/installed ## let the configured judge act, on your word (REASON="...")
	@exec $(PY) -m deploy.here judge_certify --reason "$$REASON"

test: $(VENV)/installed-dev ## run all tests
	@$(PY) -m pytest -n 2 --dist loadfile $(ARGS)

lint: $(VENV)/installed-dev ## look for mistakes: style, types, layers, migrations
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@SECRET_KEY=$${SECRET_KEY:-only-for-looking-at-the-code-which-holds-no-secret} \
	  DATABASE_URL=$${DATABASE_URL:-postgresql://nobody@localhost/nothing} $(PY) -m mypy .
	@$(PY) -c "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"

fmt: $(VENV)/installed-dev ## put the code into its form
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

bench: $(VENV)/installed-dev ## measure what fits in ten minutes; results in bench/results
	@$(PY) -m bench

bench-full: $(VENV)/installed-dev ## measure the large sizes, too
	@$(PY) -m bench --full

docs: $(VENV)/installed ## write the OpenAPI document to docs/openapi.json
	@SECRET_KEY=$${SECRET_KEY:-only-for-writing-the-document-which-holds-no-secret} \
	  $(PY) manage.py spectacular --format openapi-json --validate --fail-on-warn --file docs/openapi.json
	@echo "docs/openapi.json is written"

lock: $(VENV)/uv ## pin all dependencies anew
	@for extra in "" dev; do \
	  $(PY) -m uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --override requirements-override.txt -q pyproject.toml $${extra:+--extra $$extra} \
	    -o requirements$${extra:+-$$extra}.lock; done

clean: ## take the virtual environment away (DATA_DIR stays)
	rm -rf $(VENV)

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; this is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 ...")'
	@echo "Making a virtual environment ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/uv: $(VENV)/created
	@$(PY) -m pip install --quiet --disable-pip-version-check uv || echo "uv is not to be had; pip takes longer"
	@touch $@

# The lock holds all that is needed, so nothing is resolved here; hashes say that it is what was locked.
# uv where it works, because it takes a tenth of the time; pip knows more of how a machine is set up.
define install
	@$(PY) -m uv pip install --quiet --python $(PY) --no-deps --require-hashes -r $(1) 2>$(VENV)/uv.log \
	  || $(PY) -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)
	@touch $@
endef

$(VENV)/installed: requirements.lock $(VENV)/uv
	@echo "Installing dependencies ..."
	$(call install,requirements.lock)

$(VENV)/installed-dev: requirements-dev.lock $(VENV)/installed
	@echo "Installing what tests and checks need ..."
	$(call install,requirements-dev.lock)
