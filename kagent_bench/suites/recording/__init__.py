"""Recording of a suite shard from torch's OpInfo samples; runs only in a throwaway process."""
