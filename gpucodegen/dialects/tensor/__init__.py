"""The tensor dialect: values in the shape of arrays."""
