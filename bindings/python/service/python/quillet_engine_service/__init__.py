"""Prompts of stores with their labels and versions, scripts, and the SQL guard.

>>> from quillet_engine_service import check_query
>>> check_query("SELECT name FROM users", "postgresql", {"users": ["id", "name"]}).shown
'SELECT name FROM users LIMIT 1000'
"""

import os

from ._catalogue import Catalogue
from ._guard import Checked, check_query
from ._script import run, run_async
from ._service import __version__, after_fork, before_fork

__all__ = ["Catalogue", "Checked", "__version__", "check_query", "run", "run_async"]

# A child process must not inherit a SQLite mutex that another thread has locked.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=after_fork)
