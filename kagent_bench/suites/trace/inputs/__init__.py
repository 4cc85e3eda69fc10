"""Input rules: what the values of an operator's arguments must be like, so that a traced call means something."""
