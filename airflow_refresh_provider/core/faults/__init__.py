"""What an error of Spark means: facts of an exception in, a three-part answer out."""
