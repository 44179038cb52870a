"""From a module to a compiled function: pipeline, lowering, artifact, targets."""
