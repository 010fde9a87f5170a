"""The program of a peer on stdio: stdio_peer.py FILE"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peers

peers.main(sys.argv[1])
