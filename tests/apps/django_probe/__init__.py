"""A Django site whose tools show what happens to a request: for tests of the door, not an example."""
