"""Block-level programs: work distribution, barriers, reductions and scans."""
