"""The command `fedcos`, one file per subcommand."""
