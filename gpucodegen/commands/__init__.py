"""The subcommands: each module has ``configure(parser)`` and ``run(options)``."""
