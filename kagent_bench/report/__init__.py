"""Reports: statistics and scores as pure functions over a stored run, and the formats they are shown in."""
