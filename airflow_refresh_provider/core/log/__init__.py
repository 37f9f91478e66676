"""The target's Delta log: markers, commit notes, seals, and what they mean for a run."""
