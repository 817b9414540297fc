"""`python -m playground COMMAND`."""

import sys

from playground.interfaces.cli import main

sys.exit(main())
