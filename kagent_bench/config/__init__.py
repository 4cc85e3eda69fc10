"""Settings: their schema, and how default, file, environment and flags become one resolved object."""
