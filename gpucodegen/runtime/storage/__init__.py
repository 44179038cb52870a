"""Files that outlive the process: the cache, and machine code in it."""
