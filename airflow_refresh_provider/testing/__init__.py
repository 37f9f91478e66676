"""In-memory fakes of every port, for tests of definitions and of code that uses refreshes."""
