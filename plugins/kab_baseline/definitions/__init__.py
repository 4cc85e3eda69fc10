"""The table of operators: what each computes, written over primitives."""
