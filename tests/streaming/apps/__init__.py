"""The applications that the tests of streams serve: the same tools on each door."""
