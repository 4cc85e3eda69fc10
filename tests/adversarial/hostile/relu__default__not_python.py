# verdict: incorrect(syntax_error)
# SYNTAX: no Python at all.
this is (not Python
