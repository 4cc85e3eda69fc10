"""The fuser: modules cut into regions, a kernel for each, put together again."""
