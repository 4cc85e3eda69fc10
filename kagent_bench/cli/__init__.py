"""The command ``kab``: one thin file per subcommand."""
