PYTHON ?= python3
BIN := .venv/bin

.PHONY: run test

run: .venv/app
	$(BIN)/python app.py

test: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

.venv/app: requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements.txt
	touch $@

.venv/test: requirements.txt requirements-ray.txt requirements-test.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements-test.txt
	touch $@
