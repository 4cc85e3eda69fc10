"""The shipped corpus: cheats, faulty, hostile and honest kernels, each with the verdict that it must get."""
