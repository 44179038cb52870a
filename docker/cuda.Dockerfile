# The same on a GPU.  The CUDA libraries come from pip, the driver from the host:
#   docker build -f docker/cuda.Dockerfile -t gpucodegen-cuda .
#   docker run --gpus all gpucodegen-cuda
FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /gpucodegen
COPY . .
RUN python3 -m venv .venv && .venv/bin/pip install -e . && .venv/bin/python examples/matmul.py
RUN .venv/bin/pip install -e '.[cuda13]'
ENTRYPOINT [".venv/bin/gpucodegen"]
CMD ["doctor"]
