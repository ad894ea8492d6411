"""Makes the shared problem importable under the import mode of this repository."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
