"""From a linked question to a logical form: the linker and the model."""
