"""A server that greets whoever starts it, in colour, with JSON that is no message among it."""

import json
import sys

print('\x1b[1;32mWelcome to the server\x1b[0m\n\n\n5\n{}\n[]\nnull\n"text"', flush=True)
for line in sys.stdin:
    message = json.loads(line)
    print(f"working on {message['id']}")
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"ok": True}}), flush=True)
