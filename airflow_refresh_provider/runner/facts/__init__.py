"""Facts read through ports: targets, pinned inputs, records. Writes nothing."""
