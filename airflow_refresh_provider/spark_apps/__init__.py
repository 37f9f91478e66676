"""Programs for spark-submit. Each file is submitted as it is, so nothing else may lie beside them."""
