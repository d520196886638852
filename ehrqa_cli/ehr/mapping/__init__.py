"""Other layouts of tables seen as ours, through a mapping in one TOML file."""
