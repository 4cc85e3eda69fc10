"""From a model's reply to the text of a kernel file."""
