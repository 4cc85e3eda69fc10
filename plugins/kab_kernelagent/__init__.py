"""The generator ``kernelagent``: language models write kernels and refine them against the evaluator's verdict."""
