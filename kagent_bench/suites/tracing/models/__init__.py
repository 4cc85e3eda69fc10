"""The models of the shipped trace, built from their configurations with random weights; needs the extra ``models``."""
