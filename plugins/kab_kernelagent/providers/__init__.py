"""The providers of language models, each through its own official client."""
