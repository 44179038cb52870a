"""CHLO: functions of one number that JAX prints beside StableHLO.

- `operations`: the table
"""
