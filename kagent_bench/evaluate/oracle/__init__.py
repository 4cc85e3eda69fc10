"""The oracle: the trusted process that owns inputs, references and the verdict of each case. Imports torch."""
