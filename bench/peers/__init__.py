"""Other projects' servers, measured in environments of their own: the pins are in NAME.txt, the server in NAME.py."""
