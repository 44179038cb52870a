"""Pass infrastructure: base class, pipelines, builders and index arithmetic."""
