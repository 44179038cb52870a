"""How an intrinsic is made for each compiler."""
