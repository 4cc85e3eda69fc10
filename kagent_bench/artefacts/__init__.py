"""What `kab setup` writes for generators: problem statements, self-contained tests, the manifest."""
