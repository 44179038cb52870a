"""The nvgpu dialect: NVIDIA's matrix units, asynchronous copies and mbarriers."""
