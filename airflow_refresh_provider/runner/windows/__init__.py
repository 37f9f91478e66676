"""The windows of an incremental run: which are read, and the change set staged from them."""
