# The main job and the tests on a CPU.  From the root of the repository:
#   docker build -f docker/cpu.Dockerfile -t gpucodegen .
#   docker build -f docker/cpu.Dockerfile --target test .
FROM python:3.12.8-slim-bookworm AS source
WORKDIR /gpucodegen
COPY . .

FROM source AS test
RUN python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest -n auto

FROM source AS run
RUN python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/python examples/matmul.py
ENV GPUCODEGEN_CACHE_DIR=/tmp/gpucodegen
USER 1000:1000
HEALTHCHECK --interval=5m --timeout=2m CMD [".venv/bin/python", "examples/matmul.py"]
ENTRYPOINT [".venv/bin/gpucodegen"]
CMD ["doctor"]
