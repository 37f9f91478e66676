"""The program that an embedded server runs, in a folder of its own: Python puts the folder first among its imports."""
