"""The bundled dtype filters: ``fp16``, ``bf16``, ``fp32``, ``fp64``, ``int`` and ``bool``."""
