"""The compiler of incremental SQL: which rows of a result a changed row of an input can change."""
