"""The rules that derive cases from recorded ones: one small generator function each.

A rule takes a template and yields changed calls. It need not know whether the operator accepts them: what
eager mode refuses is dropped. Tensors stay under 4,000 elements, so that Triton's interpreter can run them.
"""
