"""The subcommands: ``configure(parser)`` and ``run(options)`` each."""
