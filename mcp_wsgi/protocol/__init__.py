"""The protocol as pure data: no I/O, no clock, no framework."""
