# The same on a GPU.  The CUDA libraries come from pip, the driver from the host:
#   docker build -f docker/cuda.Dockerfile -t gpucodegen-cuda .
#   docker run --gpus all gpucodegen-cuda
FROM python:3.12.8-slim-bookworm AS source
WORKDIR /gpucodegen
COPY . .

FROM source AS run
RUN python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/python examples/matmul.py
RUN .venv/bin/pip install -e '.[cuda13]'
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility GPUCODEGEN_CACHE_DIR=/tmp/gpucodegen
USER 1000:1000
HEALTHCHECK --interval=5m --timeout=2m CMD [".venv/bin/python", "examples/matmul.py"]
ENTRYPOINT [".venv/bin/gpucodegen"]
CMD ["doctor"]
