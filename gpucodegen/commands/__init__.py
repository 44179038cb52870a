"""The subcommands of the command line: ``configure(parser)`` and ``run(options)`` each."""
